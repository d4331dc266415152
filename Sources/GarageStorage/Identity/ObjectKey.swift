/// The type and the identifier of a parked object, and the bytes they are found by.
///
/// The bytes begin with the type, so that the objects of a type are side by side. What is too long for a key of LMDB
/// is represented by its digest, and the record then holds it in full.
struct ObjectKey: Hashable {
  /// At most 1 + 120 + 1 + 380 bytes, and one more in the index by status.
  static let longestType = 120
  private static let longestIdentifier = 380

  let type: String
  let identifier: String
  let bytes: [UInt8]
  let prefixCount: Int

  init(type: String, identifier: String, prefix: [UInt8]? = nil) {
    self.type = type
    self.identifier = identifier
    let prefix = prefix ?? Self.prefix(ofType: type)
    prefixCount = prefix.count
    let utf8 = identifier.utf8
    var bytes = prefix
    if utf8.count <= Self.longestIdentifier {
      bytes.append(0)
      bytes.append(contentsOf: utf8)
    } else {
      bytes.append(1)
      bytes.append(contentsOf: SHA256.digest(of: Array(utf8)))
    }
    self.bytes = bytes
  }

  init(_ type: TypeIdentity, _ identifier: String) {
    self.init(type: type.name, identifier: identifier, prefix: type.prefix)
  }

  /// What the keys of a type's objects begin with. No type's prefix begins another's.
  static func prefix(ofType name: String) -> [UInt8] {
    let utf8 = Array(name.utf8)
    return utf8.count <= longestType ? [UInt8(utf8.count)] + utf8 : [0xff] + SHA256.digest(of: utf8)
  }

  var prefix: ArraySlice<UInt8> { bytes[..<prefixCount] }

  static func == (one: ObjectKey, other: ObjectKey) -> Bool { one.bytes == other.bytes }

  func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

  /// As messages name the object: `Person "Sam"`.
  var label: String { "\(Self.shortName(ofType: type)) \"\(identifier)\"" }

  /// A stored name without the names around it: "Person" for "App.Person".
  static func shortName(ofType name: String) -> String {
    guard !name.contains("<"), let dot = name.lastIndex(of: ".") else { return name }
    return String(name[name.index(after: dot)...])
  }
}
