import CSecret

/// A value of a D-Bus message: GLib's immutable, reference-counted `GVariant`.
final class Variant {
  let pointer: OpaquePointer

  /// Takes over the caller's reference.
  init(owning pointer: OpaquePointer) { self.pointer = pointer }
  /// Takes over a floating reference.
  init(sinking pointer: OpaquePointer) { self.pointer = Calls.sink(variant: pointer) }
  init(retaining pointer: OpaquePointer) { self.pointer = Calls.retain(variant: pointer) }

  deinit { Calls.release(variant: pointer) }

  // MARK: - Making

  static func string(_ text: String) -> Variant { Variant(sinking: Calls.variant(string: text)) }
  static func path(_ path: String) -> Variant { Variant(sinking: Calls.variant(path: path)) }
  static func boolean(_ value: Bool) -> Variant { Variant(sinking: Calls.variant(boolean: value)) }
  static func uint32(_ value: UInt32) -> Variant { Variant(sinking: Calls.variant(uint32: value)) }

  static func boxed(_ variant: Variant) -> Variant {
    withExtendedLifetime(variant) { Variant(sinking: Calls.variant(boxing: variant.pointer)) }
  }

  static func tuple(_ elements: [Variant]) -> Variant {
    withExtendedLifetime(elements) { Variant(sinking: Calls.variant(tuple: elements.map(\.pointer))) }
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
    withExtendedLifetime((key, value)) { Variant(sinking: Calls.variant(entry: key.pointer, value.pointer)) }
  }

  private static func array(_ elements: [Variant], of type: StaticString) -> Variant {
    withExtendedLifetime(elements) { Variant(sinking: Calls.variant(array: elements.map(\.pointer), of: type)) }
  }

  // MARK: - Reading. A value of another type is nil or empty.

  /// For a string or an object path.
  var text: String? { isA("s") || isA("o") ? Calls.text(of: pointer) : nil }
  var boolean: Bool? { isA("b") ? Calls.boolean(of: pointer) : nil }
  var uint64: UInt64? { isA("t") ? Calls.uint64(of: pointer) : nil }
  /// The content of a variant of type `v`; otherwise itself.
  var unboxed: Variant { isA("v") ? Variant(owning: Calls.unboxed(pointer)) : self }

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
  var count: Int { isA("a*") || isA("r") ? Calls.count(of: pointer) : 0 }

  /// For an array, a tuple or an entry.
  subscript(index: Int) -> Variant { Variant(owning: Calls.child(index, of: pointer)) }

  private var children: [Variant] { (0..<Calls.count(of: pointer)).map { self[$0] } }

  private func isA(_ type: StaticString) -> Bool { Calls.variant(pointer, is: type) }
}

/// GLib's calls for variants, behind ``Variant``.
extension Calls {
  static func release(variant: OpaquePointer) { g_variant_unref(variant) }
  static func retain(variant: OpaquePointer) -> OpaquePointer { g_variant_ref(variant) }
  /// Takes over a floating reference; adds one to a reference that is not floating.
  static func sink(variant: OpaquePointer) -> OpaquePointer { g_variant_ref_sink(variant) }

  // MARK: - Making them. Each result is floating.

  /// `text` must not contain NUL.
  static func variant(string text: String) -> OpaquePointer { g_variant_new_string(text) }
  /// `path` must come from the service.
  static func variant(path: String) -> OpaquePointer { g_variant_new_object_path(path) }
  static func variant(boolean: Bool) -> OpaquePointer { g_variant_new_boolean(boolean ? 1 : 0) }
  static func variant(uint32: UInt32) -> OpaquePointer { g_variant_new_uint32(uint32) }
  static func variant(boxing variant: OpaquePointer) -> OpaquePointer { g_variant_new_variant(variant) }

  static func variant(entry key: OpaquePointer, _ value: OpaquePointer) -> OpaquePointer {
    g_variant_new_dict_entry(key, value)
  }

  static func variant(tuple elements: [OpaquePointer]) -> OpaquePointer {
    elements.map(Optional.some).withUnsafeBufferPointer { g_variant_new_tuple($0.baseAddress, gsize($0.count)) }
  }

  static func variant(array elements: [OpaquePointer], of type: StaticString) -> OpaquePointer {
    elements.map(Optional.some).withUnsafeBufferPointer {
      g_variant_new_array(variantType(type), $0.baseAddress, gsize($0.count))
    }
  }

  // MARK: - Reading them

  static func variant(_ variant: OpaquePointer, is type: StaticString) -> Bool {
    g_variant_is_of_type(variant, variantType(type)) != 0
  }

  /// For a string or an object path.
  static func text(of variant: OpaquePointer) -> String {
    var count: gsize = 0
    let start = g_variant_get_string(variant, &count)
    return String(decoding: UnsafeRawBufferPointer(start: start, count: Int(count)), as: UTF8.self)
  }

  static func boolean(of variant: OpaquePointer) -> Bool { g_variant_get_boolean(variant) != 0 }
  static func uint64(of variant: OpaquePointer) -> UInt64 { UInt64(g_variant_get_uint64(variant)) }
  static func count(of variant: OpaquePointer) -> Int { Int(g_variant_n_children(variant)) }
  /// Retained.
  static func child(_ index: Int, of variant: OpaquePointer) -> OpaquePointer {
    g_variant_get_child_value(variant, gsize(index))
  }
  /// Retained.
  static func unboxed(_ variant: OpaquePointer) -> OpaquePointer { g_variant_get_variant(variant) }

  /// A type is its text.
  static func variantType(_ type: StaticString) -> OpaquePointer {
    precondition(type.hasPointerRepresentation)
    return OpaquePointer(type.utf8Start)
  }
}
