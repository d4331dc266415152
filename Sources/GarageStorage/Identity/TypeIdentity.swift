import Foundation
import Platform
import Synchronization

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

  private static func text(of identifier: Any) -> String? {
    if let text = identifier as? String { return text }
    if let uuid = identifier as? UUID { return uuid.uuidString }
    if let convertible = identifier as? any LosslessStringConvertible { return String(convertible) }
    return nil
  }
}
