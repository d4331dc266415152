import Foundation

/// One parking: turns roots, and every identified object that they lead to, into JSON, each object once.
///
/// An identified object inside another one becomes a reference and waits for its turn, so that neither cycles nor long
/// chains of them nest anything. Of several objects with one type and identifier the last root counts, or else the one
/// that is met first.
final class ParkingSession {
  struct Parked {
    let key: ObjectKey
    let json: JSONValue
    /// Nil: of an object that is not ``Syncable``.
    let status: SyncStatus?
  }

  /// An object whose turn has not come yet.
  private struct Waiting {
    let key: ObjectKey
    let status: SyncStatus?
    let encode: (ParkingSession, EncodingSlot) throws -> Void
  }

  let garage: Garage
  /// Nil: the garage's own form.
  private let dates: JSONEncoder.DateEncodingStrategy?
  /// Whether objects that are pointed to are parked as well.
  private let followsReferences: Bool

  private var roots: [Waiting] = []
  private var rootIndexes: [ObjectKey: Int] = [:]
  private var seen: Set<ObjectKey> = []
  private var waiting: [Waiting] = []
  /// What the errors' paths begin with.
  private var label = ""
  private var depth = 0
  /// The instances that are being encoded in place, from the outermost one.
  private var open: [ObjectIdentifier] = []

  init(_ garage: Garage, dates: JSONEncoder.DateEncodingStrategy?, followsReferences: Bool = true) {
    self.garage = garage
    self.dates = dates
    self.followsReferences = followsReferences
  }

  // MARK: - Roots

  func add(root: some Encodable) throws {
    add(root: root, key: try garage.key(of: root))
  }

  /// - Parameter key: What it is stored under.
  func add(root: some Encodable, key: ObjectKey) {
    add(Waiting(key: key, status: (root as? any Syncable)?.syncStatus) { try $0.encodeInPlace(root, into: $1, at: []) })
  }

  func add(root: any MappableObject) throws {
    let key = try garage.key(of: root)
    add(
      Waiting(key: key, status: (root as? any Syncable)?.syncStatus) { session, slot in
        try session.encodeProperties(of: root, into: slot, at: [])
      })
  }

  private func add(_ root: Waiting) {
    if let index = rootIndexes[root.key] {
      roots[index] = root
    } else {
      rootIndexes[root.key] = roots.count
      roots.append(root)
      seen.insert(root.key)
    }
  }

  /// Encodes everything, and hands out the objects, the roots first.
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
    label = object.key.label
    let slot = EncodingSlot()
    do {
      try object.encode(self, slot)
    } catch let error as EncodingError {
      throw GarageError.unencodable(ObjectKey.shortName(ofType: object.key.type), object.key.identifier, error)
    }
    return Parked(key: object.key, json: slot.json, status: object.status)
  }

  // MARK: - Values

  /// Encodes a value that is nested in another one: in place, or as a reference.
  func encode<T: Encodable>(_ value: T, into slot: EncodingSlot, at path: [any CodingKey]) throws {
    let identity = TypeIdentity.of(type(of: value))
    if identity.isIdentified, let identifiable = value as? any Identifiable,
      let identifier = TypeIdentity.identifier(of: identifiable)
    {
      let key = ObjectKey(identity, identifier)
      slot.content = .value(.reference(to: key))
      wait(key, (value as? any Syncable)?.syncStatus) { try $0.encodeInPlace(value, into: $1, at: []) }
      return
    }
    try encodeInPlace(value, into: slot, at: path)
  }

  /// Lets a nested object be parked after the current one, if it is not yet.
  func wait(
    _ key: ObjectKey, _ status: SyncStatus?, encode: @escaping (ParkingSession, EncodingSlot) throws -> Void
  ) {
    guard followsReferences, seen.insert(key).inserted else { return }
    waiting.append(Waiting(key: key, status: status, encode: encode))
  }

  func encodeInPlace<T: Encodable>(_ value: T, into slot: EncodingSlot, at path: [any CodingKey]) throws {
    if let json = JSONValue(standard: value) {
      slot.content = .value(json)
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

  /// Goes one level deeper, unless that is too deep or the instance is there already.
  func nest(_ value: Any?, _ path: [any CodingKey], _ body: () throws -> Void) throws {
    guard depth < Nesting.limit else {
      throw GarageError.nestedTooDeeply(path: label + CodingPath.text(of: path))
    }
    depth += 1
    defer { depth -= 1 }
    guard let value, type(of: value) is AnyClass else { return try body() }
    let instance = ObjectIdentifier(value as AnyObject)
    guard !open.contains(instance) else {
      throw GarageError.cycle(path: "\(label)\(CodingPath.text(of: path)) → \(type(of: value))")
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
    // Elsewhere it is a custom one.
    #if canImport(Darwin)
      case .formatted(let formatter): try container.encode(formatter.string(from: date))
    #endif
    case .custom(let encode): try encode(date, encoder)
    @unknown default: try ISODate.encode(date, to: encoder)
    }
  }
}
