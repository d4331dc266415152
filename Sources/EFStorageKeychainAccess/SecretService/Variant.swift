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
