import Foundation
import Platform
import Synchronization

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

extension ObjectKey {
  /// Whether the bytes hold a digest instead of the type or the identifier.
  var isDigest: Bool { bytes[0] == 0xff || bytes[prefixCount] == 1 }

  /// The type and identifier in a key's bytes; `nil` if they hold a digest or are not a key.
  init?(bytes key: [UInt8]) {
    guard let length = key.first.map(Int.init), length <= Self.longestType, key.count > length + 1,
      key[length + 1] == 0,
      let type = String(validating: key[1..<length + 1], as: UTF8.self),
      let identifier = String(validating: key[(length + 2)...], as: UTF8.self)
    else { return nil }
    self.init(type: type, identifier: identifier)
  }
}

/// A type's stored name and whether its values have an identifier.
struct TypeIdentity: Sendable {
  /// The name with its module, "App.Person": the same in every process and build.
  let name: String
  /// The name without its module, for messages: "Person".
  let shortName: String
  let prefix: [UInt8]
  /// Whether nested values are separate objects.
  let isIdentified: Bool
  /// Whether it conforms to `Identifiable`, even with an unsupported identifier.
  let isIdentifiable: Bool
  let isSyncable: Bool

  private struct Known {
    var identities: [ObjectIdentifier: TypeIdentity] = [:]
    var types: [String: Any.Type] = [:]
  }

  private static let known = Mutex(Known())

  static func of(_ type: Any.Type) -> TypeIdentity {
    let identifier = ObjectIdentifier(type)
    if let identity = known.withLock({ $0.identities[identifier] }) { return identity }
    let identity = TypeIdentity(type)
    known.withLock { known in
      known.identities[identifier] = identity
      known.types[identity.name] = type
    }
    return identity
  }

  /// The type with a stored name, if this process has parked or retrieved it or can find it as a class.
  static func type(named name: String) -> Any.Type? {
    if let type = known.withLock({ $0.types[name] }) { return type }
    // A file may contain any name.
    return name.canBeTypeName ? NSClassFromString(name) : nil
  }

  private init(_ type: Any.Type) {
    name = Self.stableName(of: type)
    shortName = String(describing: type)
    prefix = ObjectKey.prefix(ofType: name)
    isSyncable = type is any Syncable.Type
    if let identifiable = type as? any Identifiable.Type {
      isIdentifiable = true
      isIdentified = Self.canBeStored(identifiable)
    } else {
      isIdentifiable = false
      isIdentified = false
    }
  }

  /// The qualified name, without the context addresses of private and local types.
  private static func stableName(of type: Any.Type) -> String {
    var name = String(reflecting: type)
    let opening = "(unknown context at $"
    while let start = name.range(of: opening), let end = name.range(of: ").", range: start.upperBound..<name.endIndex) {
      name.removeSubrange(start.lowerBound..<end.upperBound)
    }
    return name
  }

  private static func canBeStored<T: Identifiable>(_ type: T.Type) -> Bool {
    T.ID.self == String.self || T.ID.self == UUID.self || T.ID.self is any LosslessStringConvertible.Type
  }

  static func identifier(of value: some Identifiable) -> String? { text(of: value.id) }

  /// - Throws: ``GarageError/Code/unsupportedIDConformance``
  static func text<ID>(ofIdentifier identifier: ID) throws(GarageError) -> String {
    guard let text = text(of: identifier) else { throw .unsupportedIDConformance(String(describing: ID.self)) }
    return text
  }

  static func text(of identifier: Any) -> String? {
    if let text = identifier as? String { return text }
    if let uuid = identifier as? UUID { return uuid.uuidString }
    if let convertible = identifier as? any LosslessStringConvertible { return String(convertible) }
    return nil
  }
}

/// Identifies content without an identifier, the same in every process.
enum ContentDigest {
  static func text(of content: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: SHA256.digest(of: content).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  static func isText(_ text: String) -> Bool {
    let digits = Array("0123456789abcdef".utf8)
    return text.utf8.count == 64 && text.utf8.allSatisfy { digits.contains($0) }
  }
}

/// SHA-256, as defined by FIPS 180-4.
struct SHA256 {
  private static let constants: [UInt32] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
  ]

  private var state: [UInt32] = [
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
  ]
  private var schedule = [UInt32](repeating: 0, count: 64)

  static func digest(of message: [UInt8]) -> [UInt8] {
    var hash = SHA256()
    var padded = message
    padded.reserveCapacity(message.count + 72)
    padded.append(0x80)
    padded.append(contentsOf: repeatElement(0, count: (119 - message.count % 64) % 64))
    let bits = UInt64(message.count) * 8
    for shift in stride(from: 56, through: 0, by: -8) { padded.append(UInt8(truncatingIfNeeded: bits >> shift)) }
    for start in stride(from: 0, to: padded.count, by: 64) { hash.absorb(padded[start..<start + 64]) }
    return hash.state.flatMap { word in
      [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> $0) }
    }
  }

  private mutating func absorb(_ block: ArraySlice<UInt8>) {
    for index in 0..<16 {
      let start = block.startIndex + index * 4
      schedule[index] =
        UInt32(block[start]) << 24 | UInt32(block[start + 1]) << 16 | UInt32(block[start + 2]) << 8
        | UInt32(block[start + 3])
    }
    func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }
    for index in 16..<64 {
      let early = schedule[index - 15]
      let late = schedule[index - 2]
      let first = rotate(early, 7) ^ rotate(early, 18) ^ early >> 3
      let second = rotate(late, 17) ^ rotate(late, 19) ^ late >> 10
      schedule[index] = schedule[index - 16] &+ first &+ schedule[index - 7] &+ second
    }
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for index in 0..<64 {
      let choice = (e & f) ^ (~e & g)
      let upper = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
      let first = h &+ upper &+ choice &+ Self.constants[index] &+ schedule[index]
      let majority = (a & b) ^ (a & c) ^ (b & c)
      let second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) &+ majority
      (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ second)
    }
    for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= word }
  }
}
