/// The type and identifier of a parked object, and its key in LMDB.
///
/// Keys begin with the type, so that objects of a type are adjacent. A part that is too long is replaced by its digest,
/// and the record holds it in full.
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

  /// The key prefix of a type. No type's prefix is a prefix of another's.
  static func prefix(ofType name: String) -> [UInt8] {
    let utf8 = Array(name.utf8)
    return utf8.count <= longestType ? [UInt8(utf8.count)] + utf8 : [0xff] + SHA256.digest(of: utf8)
  }

  var prefix: ArraySlice<UInt8> { bytes[..<prefixCount] }

  static func == (one: ObjectKey, other: ObjectKey) -> Bool { one.bytes == other.bytes }

  func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

  /// The object's name in messages: `Person "Sam"`.
  var label: String { "\(Self.shortName(ofType: type)) \"\(identifier)\"" }

  /// A stored name without its context: "Person" for "App.Person".
  static func shortName(ofType name: String) -> String {
    guard !name.contains("<"), let dot = name.lastIndex(of: ".") else { return name }
    return String(name[name.index(after: dot)...])
  }
}
