import Foundation
import Platform

/// A property that points to parked objects, retrieved when first read.
///
/// ```swift
/// class Person: Mappable {
///   var id: String { name }
///   var name = ""
///   @Reference var brother: Person?
///   @Reference var siblings: [Person] = []
/// }
/// ```
///
/// Unlike plain properties, it supports cycles and long chains of objects. The first read retrieves the current object
/// from its owner's garage. All references of one retrieval to one object of a class give the same instance during its
/// lifetime.
///
/// Once read or set, a reference holds its object **strongly**, like a plain property: objects that point to each other
/// keep each other alive until ``unload()``. Before that it holds only the garage.
///
/// If an object cannot be retrieved, the property is nil or omits it, ``failure`` is the reason, and ``resolve()``
/// throws. The reference itself is kept and parked again unchanged.
///
/// Reading is as thread-safe as sharing the owner. Parking the owner parks the object again only if the property was
/// read or set. `JSONEncoder` writes only the identifier, and `JSONDecoder` reads objects in place.
@propertyWrapper
public struct Reference<Value: ReferenceTarget> {
  private var boxes: [ReferenceBox<Value.Object>]

  public init(wrappedValue: Value) { boxes = wrappedValue.referencedObjects.map { ReferenceBox($0) } }

  public init() { boxes = [] }

  init(boxes: [ReferenceBox<Value.Object>]) { self.boxes = boxes }

  /// The objects, retrieved on first access. Omits those that cannot be retrieved, see ``failure``. Setting keeps
  /// currently unavailable objects, so that appending to an array loses nothing.
  public var wrappedValue: Value {
    get { Value(referenced: boxes.compactMap { try? $0.resolve() }) }
    set {
      let unreachable = Value.holdsSeveral ? boxes.filter { $0.failure != nil && !$0.isMissing } : []
      boxes = newValue.referencedObjects.map { ReferenceBox($0) } + unreachable
    }
  }

  /// The reference itself: `$brother`.
  public var projectedValue: Reference<Value> {
    get { self }
    set { self = newValue }
  }

  /// The objects' identifiers, without retrieving them.
  public var identifiers: [String] { boxes.compactMap(\.identifier) }

  /// Whether all objects are in memory.
  public var isLoaded: Bool { boxes.allSatisfy { $0.loaded != nil } }

  /// The reason why an object could not be retrieved at the last read, or `nil`.
  ///
  /// ``GarageError/Code/failedToRetrieveObject`` if it was deleted.
  public var failure: (any Error)? { boxes.lazy.compactMap(\.failure).first }

  /// Returns the objects. Throws if any cannot be retrieved.
  public func resolve() throws -> Value { Value(referenced: try boxes.map { try $0.resolve() }) }

  /// Releases the objects that came from a garage. The next read retrieves them again, or finds the same instances if
  /// they are still alive. Unparked changes are lost with objects released this way.
  public func unload() { boxes.forEach { $0.unload() } }

  /// Removes all objects, including currently unavailable ones.
  public mutating func removeAll() { boxes = [] }
}

extension Reference: Sendable where Value: Sendable {}

extension Reference {
  func encode(with encoder: TreeEncoder) throws {
    guard Value.holdsSeveral else {
      guard let box = boxes.first else { return encoder.slot.set(.null) }
      return try box.encode(into: encoder.slot, encoder.session, at: encoder.codingPath)
    }
    guard encoder.slot.becomeArray() else { return encoder.session.fail(encoder.conflict("a reference")) }
    for (index, box) in boxes.enumerated() {
      try box.encode(into: encoder.slot.element(), encoder.session, at: encoder.codingPath + [IndexKey(index)])
    }
  }
}

extension Reference: Equatable, Hashable {
  /// Whether two references point to the same objects, by type and identifier. Retrieves nothing.
  public static func == (one: Reference, other: Reference) -> Bool {
    one.boxes.map(\.target) == other.boxes.map(\.target)
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(boxes.map(\.target)) }
}

extension Reference: Encodable {
  public func encode(to encoder: any Encoder) throws {
    if let tree = encoder as? TreeEncoder {
      try encode(with: tree)
    } else {
      var container = encoder.singleValueContainer()
      if Value.holdsSeveral {
        try container.encode(identifiers)
      } else if let identifier = identifiers.first {
        try container.encode(identifier)
      } else {
        try container.encodeNil()
      }
    }
  }
}

extension Reference: Decodable {
  public init(from decoder: any Decoder) throws {
    guard let tree = decoder as? TreeDecoder else {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        self.init()
      } else if Value.holdsSeveral {
        self.init(boxes: try container.decode([Value.Object].self).map { ReferenceBox($0) })
      } else {
        self.init(boxes: [ReferenceBox(try container.decode(Value.Object.self))])
      }
      return
    }
    func box(_ decoder: TreeDecoder) throws -> ReferenceBox<Value.Object> {
      if let reference = decoder.json.reference { return ReferenceBox(reference, tree.session) }
      return ReferenceBox(try tree.session.decode(Value.Object.self, from: decoder.json, at: decoder.codingPath))
    }
    switch tree.json {
    case .null: self.init()
    case .array(let elements) where Value.holdsSeveral:
      self.init(boxes: try elements.enumerated().map { try box(tree.nested($0.element, IndexKey($0.offset))) })
    case .array: throw tree.mismatch(Value.Object.self)
    default: self.init(boxes: [try box(tree)])
    }
  }
}

extension KeyedDecodingContainer {
  /// A missing reference points to nothing, for objects parked before they had the property.
  public func decode<Value>(_ type: Reference<Value>.Type, forKey key: Key) throws -> Reference<Value> {
    try decodeIfPresent(type, forKey: key) ?? Reference()
  }
}

/// The type of a ``Reference`` property: an optional or an array of `Codable & Identifiable` objects.
public protocol ReferenceTarget {
  associatedtype Object: Codable & Identifiable

  /// Creates a value that holds these objects.
  init(referenced objects: [Object])

  /// The objects in the value.
  var referencedObjects: [Object] { get }

  /// Whether it is stored as an array.
  static var holdsSeveral: Bool { get }
}

extension Optional: ReferenceTarget where Wrapped: Codable & Identifiable {
  public init(referenced objects: [Wrapped]) { self = objects.first }
  public var referencedObjects: [Wrapped] { map { [$0] } ?? [] }
  public static var holdsSeveral: Bool { false }
}

extension Array: ReferenceTarget where Element: Codable & Identifiable {
  public init(referenced objects: [Element]) { self = objects }
  public var referencedObjects: [Element] { self }
  public static var holdsSeveral: Bool { true }
}

/// One object of a reference, or the information to retrieve it.
// @unchecked: variables are accessed with `lock` held. Users share the object at their discretion.
final class ReferenceBox<Object: Codable & Identifiable>: @unchecked Sendable {
  private struct Origin {
    let source: ObjectSource
    let reference: ObjectKey
    let identities: IdentityMap
  }

  private let lock = NSLock()
  private let origin: Origin?
  private var object: Object?
  private var lastFailure: (any Error)?

  init(_ object: Object) {
    origin = nil
    self.object = object
  }

  init(_ reference: ObjectKey, _ session: RetrievalSession) {
    origin = Origin(source: session.source, reference: reference, identities: session.identities)
  }

  var loaded: Object? { lock.withLock { object } }
  var failure: (any Error)? { lock.withLock { lastFailure } }

  var identifier: String? { origin?.reference.identifier ?? loaded.flatMap { TypeIdentity.identifier(of: $0) } }

  /// Equal for two references to the same object.
  var target: [String] {
    let type = origin?.reference.type ?? TypeIdentity.of(Object.self).name
    return [type, identifier ?? ""]
  }

  func resolve() throws -> Object {
    if let object = loaded { return object }
    guard let origin else { throw GarageError.failedToRetrieveObject(TypeIdentity.of(Object.self).shortName) }
    do {
      var found: Object?
      try origin.source.read { view, dates in
        let session = RetrievalSession(origin.source, view, dates: dates, identities: origin.identities)
        found = try session.resolve(Object.self, origin.reference)
      }
      guard let found else { preconditionFailure("The garage read nothing, and said nothing.") }
      return lock.withLock {
        lastFailure = nil
        // If another thread was faster, its object wins.
        let object = object ?? found
        self.object = object
        return object
      }
    } catch {
      lock.withLock { lastFailure = error }
      throw error
    }
  }

  /// Whether the object was deleted, not just unavailable.
  var isMissing: Bool { (failure as? GarageError)?.code == .failedToRetrieveObject }

  func unload() { lock.withLock { if origin != nil { object = nil } } }

  /// Encodes the object's reference or identifier. Does not retrieve an unread object.
  func encode(into slot: EncodingSlot, _ session: ParkingSession, at path: [any CodingKey]) throws {
    // A session without a garage creates identifiers, which do not depend on whether the object was read.
    if loaded == nil, let origin, session.garage == nil || origin.source.garage === session.garage {
      return slot.set(.reference(to: origin.reference))
    }
    try session.encode(try resolve(), into: slot, at: path)
  }
}
