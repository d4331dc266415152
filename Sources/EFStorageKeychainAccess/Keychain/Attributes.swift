public import Foundation

/// The secret and the stored properties of one item.
///
/// The names are KeychainAccess's. Linux has no references to items (`ref`, `persistentRef`) and no access control.
/// Attributes set with ``Keychain/attributes(_:)`` have the same names, and are text.
public struct Attributes: Sendable {
  /// ``ItemClass/rawValue``.
  public let `class`: String?
  /// The secret, copied out of the memory that is not paged out.
  public let data: Data?
  /// The service and the key, unless the keychain had a label.
  public let label: String?
  /// To the second.
  public let creationDate: Date?
  /// To the second.
  public let modificationDate: Date?

  private let stored: [String: String]

  init(_ item: StoredItem, itemClass: ItemClass) {
    `class` = itemClass.rawValue
    data = item.secret?.withUnsafeBytes { Data($0) }
    label = item.label
    creationDate = item.created
    modificationDate = item.modified
    stored = item.attributes
  }

  /// The key.
  public var account: String? { stored[Options.Name.key] }
  public var service: String? { stored[Options.Name.service] }
  public var accessGroup: String? { nonEmpty(Options.Name.accessGroup) }
  public var server: String? { stored[Options.Name.server] }
  public var port: Int? { stored[Options.Name.port].flatMap { Int($0) } }
  /// The `rawValue` of a ``ProtocolType``.
  public var `protocol`: String? { stored[Options.Name.protocolType] }
  /// The `rawValue` of an ``AuthenticationType``.
  public var authenticationType: String? { stored[Options.Name.authenticationType] }
  public var comment: String? { stored[Options.Name.comment] }
  /// The `rawValue` of an ``Accessibility``, if it was set. Recorded, not enforced.
  public var accessible: String? { stored[Options.Name.accessibility] }
  /// If set. Recorded; nothing is synchronized.
  public var synchronizable: Bool? { stored[Options.Name.synchronizable].flatMap { Bool($0) } }
  public var attributeDescription: String? { stored["attributeDescription"] }
  public var creator: String? { stored["creator"] }
  public var type: String? { stored["type"] }
  public var isInvisible: Bool? { stored["isInvisible"].flatMap { Bool($0) } }
  public var isNegative: Bool? { stored["isNegative"].flatMap { Bool($0) } }
  public var generic: Data? { stored["generic"].flatMap { Data(base64Encoded: $0) } }
  public var securityDomain: String? { stored["securityDomain"] }
  public var path: String? { stored["path"] }

  /// An attribute by its name in the service, as text.
  public subscript(key: String) -> Any? { stored[key] }

  private func nonEmpty(_ name: String) -> String? {
    stored[name].flatMap { $0.isEmpty ? nil : $0 }
  }
}

/// Without the secret, however it is printed.
extension Attributes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String {
    let fields = stored.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
    return "[label: \(label ?? ""), \(fields.joined(separator: ", ")), data: \(data?.count ?? 0) bytes]"
  }

  public var debugDescription: String { description }

  public var customMirror: Mirror {
    Mirror(self, children: ["label": label as Any, "attributes": stored], displayStyle: .struct)
  }
}
