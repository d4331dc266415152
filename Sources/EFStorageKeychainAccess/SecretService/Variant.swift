import CSecret

/// A value of a D-Bus message: GLib's immutable, reference-counted `GVariant`.
// @safe: holds a reference as long as it lives.
@safe final class Variant {
  let pointer: OpaquePointer

  /// Takes over the caller's reference.
  init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }
  /// Takes over a floating reference.
  init(sinking pointer: OpaquePointer) { unsafe self.pointer = g_variant_ref_sink(pointer) }
  init(retaining pointer: OpaquePointer) { unsafe self.pointer = g_variant_ref(pointer) }

  deinit { unsafe g_variant_unref(pointer) }

  // MARK: - Making

  /// `text` must not contain NUL.
  static func string(_ text: String) -> Variant { unsafe Variant(sinking: g_variant_new_string(text)) }
  /// `path` must come from the service.
  static func path(_ path: String) -> Variant { unsafe Variant(sinking: g_variant_new_object_path(path)) }
  static func boolean(_ value: Bool) -> Variant { unsafe Variant(sinking: g_variant_new_boolean(value ? 1 : 0)) }
  static func uint32(_ value: UInt32) -> Variant { unsafe Variant(sinking: g_variant_new_uint32(value)) }

  static func boxed(_ variant: Variant) -> Variant {
    withExtendedLifetime(variant) { unsafe Variant(sinking: g_variant_new_variant(variant.pointer)) }
  }

  static func tuple(_ elements: [Variant]) -> Variant { unsafe of(elements) { unsafe g_variant_new_tuple($0, $1) } }

  private static func of(
    _ elements: [Variant], _ make: (UnsafePointer<OpaquePointer?>?, gsize) -> OpaquePointer
  ) -> Variant {
    withExtendedLifetime(elements) {
      unsafe elements.map { unsafe Optional($0.pointer) }.withUnsafeBufferPointer {
        unsafe Variant(sinking: make($0.baseAddress, gsize($0.count)))
      }
    }
  }

  /// `ao`
  static func paths(_ paths: [String]) -> Variant { array(paths.map(path), of: "o") }

  /// `a{ss}`
  static func strings(_ strings: [String: String]) -> Variant {
    array(strings.map { entry(string($0), string($1)) }, of: "{ss}")
  }

  /// `a{sv}`
  static func properties(_ properties: [String: Variant]) -> Variant {
    array(properties.map { entry(string($0), boxed($1)) }, of: "{sv}")
  }

  private static func entry(_ key: Variant, _ value: Variant) -> Variant {
    withExtendedLifetime((key, value)) { unsafe Variant(sinking: g_variant_new_dict_entry(key.pointer, value.pointer)) }
  }

  private static func array(_ elements: [Variant], of type: StaticString) -> Variant {
    unsafe of(elements) { unsafe g_variant_new_array(Self.type(type), $0, $1) }
  }

  // MARK: - Reading. A value of another type is nil or empty.

  /// For a string or an object path.
  var text: String? {
    guard isA("s") || isA("o") else { return nil }
    var count: gsize = 0
    let start = unsafe g_variant_get_string(pointer, &count)
    return unsafe String(decoding: UnsafeRawBufferPointer(start: start, count: Int(count)), as: UTF8.self)
  }
  var boolean: Bool? { isA("b") ? unsafe g_variant_get_boolean(pointer) != 0 : nil }
  var uint64: UInt64? { isA("t") ? unsafe UInt64(g_variant_get_uint64(pointer)) : nil }
  /// The content of a variant of type `v`; otherwise itself.
  var unboxed: Variant { isA("v") ? unsafe Variant(owning: g_variant_get_variant(pointer)) : self }

  /// For `ao`.
  var paths: [String] { isA("ao") ? children.compactMap(\.text) : [] }

  /// For `a{ss}`.
  var strings: [String: String]? {
    guard isA("a{ss}") else { return nil }
    return Dictionary(children.map { ($0[0].text ?? "", $0[1].text ?? "") }) { first, _ in first }
  }

  /// For `a{sv}` and all dictionaries with strings or paths as keys.
  var properties: [String: Variant] {
    guard isA("a{?*}") else { return [:] }
    return Dictionary(children.map { ($0[0].text ?? "", $0[1].unboxed) }) { first, _ in first }
  }

  /// For an array or a tuple.
  var count: Int { isA("a*") || isA("r") ? unsafe Int(g_variant_n_children(pointer)) : 0 }

  /// For an array, a tuple or an entry.
  subscript(index: Int) -> Variant { unsafe Variant(owning: g_variant_get_child_value(pointer, gsize(index))) }

  private var children: [Variant] { (0..<count).map { self[$0] } }

  /// A type is its text.
  static func type(_ type: StaticString) -> OpaquePointer {
    precondition(type.hasPointerRepresentation)
    return unsafe OpaquePointer(type.utf8Start)
  }

  private func isA(_ type: StaticString) -> Bool { unsafe g_variant_is_of_type(pointer, Self.type(type)) != 0 }
}
