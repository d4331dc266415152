import Foundation
import Platform

/// One parking: converts roots and all identified objects they lead to into JSON, each once. Nested ones are queued, so
/// cycles and long chains do not recurse. Of several with one key the last root wins, otherwise the first one met.
final class ParkingSession {
  struct Parked {
    let key: ObjectKey
    let json: JSONValue
    /// `nil` for an object that is not ``Syncable``.
    let status: SyncStatus?
  }

  private struct Waiting {
    let key: ObjectKey
    let status: SyncStatus?
    let encode: (ParkingSession, EncodingSlot) throws -> Void
  }

  /// The garage: its own references can be parked again without resolving them. `nil` to compute only the JSON that
  /// identifies the root, without sync statuses, which are not content.
  let garage: AnyObject?
  /// `nil` for the garage's own form.
  private let dates: JSONEncoder.DateEncodingStrategy?
  /// Whether a referenced object is already parked and left unchanged.
  private let isParked: (ObjectKey) throws -> Bool

  private var roots: [Waiting] = []
  private var rootIndexes: [ObjectKey: Int] = [:]
  private var seen: Set<ObjectKey> = []
  private var waiting: [Waiting] = []
  /// The start of paths in errors.
  private var label = ""
  private var depth = 0
  /// Instances being encoded in place, outermost first.
  private var open: [ObjectIdentifier] = []
  /// The first failure where throwing was impossible.
  private var failure: GarageError?

  init(
    _ garage: AnyObject?, dates: JSONEncoder.DateEncodingStrategy?,
    isParked: @escaping (ObjectKey) throws -> Bool = { _ in false }
  ) {
    self.garage = garage
    self.dates = dates
    self.isParked = isParked
  }

  // MARK: - Roots

  func add(root: some Encodable) throws { add(root: root, key: try Self.key(of: root)) }

  func add(root: some Encodable, key: ObjectKey) {
    add(key, (root as? any Syncable)?.syncStatus) { try $0.encodeInPlace(root, into: $1, at: []) }
  }

  func add(_ key: ObjectKey, _ status: SyncStatus?, encode: @escaping (ParkingSession, EncodingSlot) throws -> Void) {
    let root = Waiting(key: key, status: status, encode: encode)
    if let index = rootIndexes[key] {
      roots[index] = root
    } else {
      rootIndexes[key] = roots.count
      roots.append(root)
      seen.insert(key)
    }
  }

  /// Encodes everything. Returns the objects, roots first.
  func finish() throws -> [Parked] {
    var parked: [Parked] = []
    for root in roots { parked.append(try encode(root)) }
    var next = 0
    while next < waiting.count {
      parked.append(try encode(waiting[next]))
      next += 1
    }
    return parked
  }

  private func encode(_ object: Waiting) throws -> Parked {
    let json = try json(label: object.key.label) { try object.encode(self, $0) }
    return Parked(key: object.key, json: json, status: object.status)
  }

  func json(label: String, _ body: (EncodingSlot) throws -> Void) throws -> JSONValue {
    self.label = label
    let slot = EncodingSlot()
    do {
      try body(slot)
    } catch let error as EncodingError {
      throw failure ?? GarageError.unencodable(label, error)
    }
    if let failure { throw failure }
    return slot.json
  }

  /// Fails the parking where throwing is impossible.
  func fail(_ error: GarageError) { failure = failure ?? error }

  func text(of path: [any CodingKey]) -> String { label + path.text }

  // MARK: - Values

  /// Encodes a nested value in place or as a reference.
  func encode<T: Encodable>(_ value: T, into slot: EncodingSlot, at path: [any CodingKey]) throws {
    if let json = JSONValue(standard: value) { return slot.set(json) }
    let identity = TypeIdentity.of(type(of: value))
    if identity.isIdentified, let identifiable = value as? any Identifiable,
      let identifier = TypeIdentity.identifier(of: identifiable)
    {
      let key = ObjectKey(identity, identifier)
      slot.set(.reference(to: key))
      return try wait(key, (value as? any Syncable)?.syncStatus) { try $0.encodeInPlace(value, into: $1, at: []) }
    }
    try encodeInPlace(value, into: slot, at: path)
    if identity.isSyncable { keepStatus(of: value, in: slot) }
  }

  /// Queues a nested object, unless it is already queued or parked.
  func wait(
    _ key: ObjectKey, _ status: SyncStatus?, encode: @escaping (ParkingSession, EncodingSlot) throws -> Void
  ) throws {
    guard garage != nil, seen.insert(key).inserted, try !isParked(key) else { return }
    waiting.append(Waiting(key: key, status: status, encode: encode))
  }

  /// Stores the status of an object inside its owner's JSON, even the default one: the type may start with another.
  func keepStatus(of value: Any, in slot: EncodingSlot) {
    guard garage != nil, let status = (value as? any Syncable)?.syncStatus, slot.isObject,
      !slot.hasMember(JSONValue.statusMember)
    else { return }
    slot.newMember(JSONValue.statusMember).set(.number(String(status.rawValue)))
  }

  func encodeInPlace<T: Encodable>(_ value: T, into slot: EncodingSlot, at path: [any CodingKey]) throws {
    if let json = JSONValue(standard: value) {
      slot.set(json)
    } else if T.self == Date.self, let date = value as? Date {
      try nest(nil, path) { try encode(date, with: TreeEncoder(self, slot, path)) }
    } else {
      let encoder = TreeEncoder(self, slot, path)
      try nest(value, path) {
        if let unordered = value as? any Unordered {
          try unordered.encode(into: slot, with: encoder)
        } else {
          try value.encode(to: encoder)
        }
      }
    }
  }

  /// Enters a nested value, unless it is too deep or the instance is already open.
  func nest(_ value: Any?, _ path: [any CodingKey], _ body: () throws -> Void) throws {
    guard depth < Nesting.limit else {
      throw GarageError.nestedTooDeeply(path: text(of: path), limit: Nesting.limit)
    }
    depth += 1
    defer { depth -= 1 }
    guard let value, type(of: value) is AnyClass else { return try body() }
    let instance = ObjectIdentifier(value as AnyObject)
    guard !open.contains(instance) else {
      throw GarageError.cycle(path: "\(text(of: path)) → \(type(of: value))")
    }
    open.append(instance)
    defer { open.removeLast() }
    try body()
  }

  private func encode(_ date: Date, with encoder: TreeEncoder) throws {
    var container = encoder.singleValueContainer()
    guard let dates else { return try ISODate.encode(date, to: encoder) }
    switch dates {
    case .deferredToDate: try date.encode(to: encoder)
    case .secondsSince1970: try container.encode(date.timeIntervalSince1970)
    case .millisecondsSince1970: try container.encode(date.timeIntervalSince1970 * 1_000)
    case .iso8601: try container.encode(ISODate.text(of: date, hasFraction: false) ?? date.ISO8601Format())
    // On other platforms it is `.custom`.
    #if canImport(Darwin)
      case .formatted(let formatter): try container.encode(formatter.string(from: date))
    #endif
    case .custom(let encode): try encode(date, encoder)
    @unknown default: try ISODate.encode(date, to: encoder)
    }
  }
}

extension ParkingSession {
  /// An object's key: its identifier if it is `Identifiable`, otherwise a digest of its content.
  static func key(of object: some Encodable) throws -> ObjectKey {
    let identity = TypeIdentity.of(type(of: object))
    if identity.isIdentifiable, let identifiable = object as? any Identifiable {
      guard let identifier = TypeIdentity.identifier(of: identifiable) else {
        throw GarageError.unsupportedIDConformance(String(describing: Swift.type(of: identifiable.id as Any)))
      }
      return ObjectKey(identity, identifier)
    }
    guard object is any Hashable else { throw GarageError.missingConformance(identity.shortName) }
    return try digestKey(identity) { session, slot in try session.encodeInPlace(object, into: slot, at: []) }
  }

  static func digestKey(
    _ identity: TypeIdentity, _ encode: (ParkingSession, EncodingSlot) throws -> Void
  ) throws -> ObjectKey {
    let session = ParkingSession(nil, dates: nil)
    let json = try session.json(label: identity.shortName) { try encode(session, $0) }
    return ObjectKey(identity, ContentDigest.text(of: JSONWriter.bytes(of: json)))
  }
}

/// Limits on nested values, which coding recurses for, and on chains of objects. See ``RoomyStack``.
enum Nesting {
  /// The limit for encoding values in one object. Keeps a release build within a stack of 512 KiB, the least that
  /// platforms give a thread; a debug build may need eight times as much.
  static let limit = 128

  /// The limit for decoding values in one object. Larger, because a type may decode in more steps than it encodes.
  static let decodingLimit = 1_024

  /// The limit of objects that lead to each other through plain properties in one retrieval. All of them are under
  /// construction at once, each on the stack.
  static let longestChain = 65_536
}
