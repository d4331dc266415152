import Foundation
import Platform
import Synchronization

/// What the garage knows of a type: the name it is stored under, and whether its values have an identifier.
struct TypeIdentity: Sendable {
  /// The name with the module: "App.Person". The same in every process and build.
  let name: String
  /// The name without the module, for messages: "Person".
  let shortName: String
  /// What the keys of all the type's objects begin with.
  let prefix: [UInt8]
  /// Whether values are objects of their own when they are nested in others.
  let isIdentified: Bool
  /// Whether it conforms to `Identifiable`, with an identifier that can be stored or not.
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

  /// The type that a stored name stands for, if this process has parked or retrieved it, or if it is a class that can
  /// be found by its name.
  static func type(named name: String) -> Any.Type? {
    if let type = known.withLock({ $0.types[name] }) { return type }
    // What is in the file may be anything.
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

  /// The type's qualified name, without the addresses that stand for the context of private and local types.
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

  /// The text of an `Identifiable`'s identifier. Returns `nil` for a type that cannot be stored.
  static func identifier(of value: some Identifiable) -> String? { text(of: value.id) }

  /// The text of an identifier.
  ///
  /// - Throws: ``GarageError/Code/unsupportedIDConformance``
  static func text<ID>(ofIdentifier identifier: ID) throws(GarageError) -> String {
    guard let text = text(of: identifier) else { throw .unsupportedIDConformance(String(describing: ID.self)) }
    return text
  }

  private static func text(of identifier: Any) -> String? {
    if let text = identifier as? String { return text }
    if let uuid = identifier as? UUID { return uuid.uuidString }
    if let convertible = identifier as? any LosslessStringConvertible { return String(convertible) }
    return nil
  }
}
