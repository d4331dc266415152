import Foundation

/// The properties of a keychain. Immutable: a modifier makes another keychain.
struct Options: Sendable {
  var itemClass: ItemClass = .genericPassword
  var service = ""
  var server = URL(string: "about:blank")!
  var protocolType: ProtocolType = .https
  var authenticationType: AuthenticationType = .default
  var accessGroup: String?

  var label: String?
  var comment: String?
  /// Further attributes; those that cannot be stored, with the reason.
  var attributes: [String: String] = [:]
  var unusableAttributes: [String: String] = [:]

  var waits = WaitOptions()

  static let defaultService = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
}

extension Options {
  enum Name {
    static let itemClass = "class"
    static let service = "service"
    static let server = "server"
    static let port = "port"
    static let protocolType = "protocol"
    static let authenticationType = "authenticationType"
    static let accessGroup = "accessGroup"
    static let key = "key"
    static let identity: Set = [
      itemClass, service, server, port, protocolType, authenticationType, accessGroup, key,
    ]

    static let comment = "comment"
  }

  /// The attributes shared by all items of this keychain, and of no other.
  ///
  /// A missing attribute is the empty string, never left out: a search without it would find items of other access
  /// groups. `xdg:schema` is left out: GNOME Keyring knows items of a locked keyring by digests of their attributes,
  /// and would not find them by it.
  var scope: [String: String] {
    var scope = [Name.itemClass: itemClass.schema, Name.accessGroup: accessGroup ?? ""]
    switch itemClass {
    case .genericPassword:
      scope[Name.service] = service
    case .internetPassword:
      scope[Name.server] = server.host ?? server.absoluteString
      scope[Name.port] = server.port.map(String.init) ?? ""
      scope[Name.protocolType] = protocolType.rawValue
      scope[Name.authenticationType] = authenticationType.rawValue
    }
    return scope
  }

  /// Throws if ``scope`` cannot be sent.
  func checkedScope() throws(KeychainError) -> [String: String] {
    let scope = scope
    for (name, value) in scope { try check(value, "The keychain's \(name)") }
    return scope
  }

  func identity(_ key: String) throws(KeychainError) -> [String: String] {
    guard !key.utf8.contains(0) else {
      throw KeychainError(
        .invalidKey, "The key holds a NUL character, which no attribute of the Secret Service can. Use another key.")
    }
    var identity = try checkedScope()
    identity[Name.key] = key
    return identity
  }

  /// The attributes written in addition to the identity.
  func additions() throws(KeychainError) -> [String: String] {
    if let (name, reason) = unusableAttributes.min(by: { $0.key < $1.key }) {
      throw KeychainError(.invalidAttribute, "The attribute “\(name)” cannot be stored: \(reason).")
    }
    var additions = attributes
    if let comment { additions[Name.comment] = comment }
    for (name, value) in additions { try check(value, "The attribute “\(name)”") }
    return additions
  }

  func checkedLabel() throws(KeychainError) -> String? {
    if let label { try check(label, "The label") }
    return label
  }

  /// The label of an item without one in the service's program.
  func defaultLabel(_ key: String) -> String {
    let place =
      switch itemClass {
      case .genericPassword: service
      case .internetPassword: server.host ?? server.absoluteString
      }
    return key.isEmpty ? place : "\(place): \(key)"
  }

  private func check(_ value: String, _ subject: String) throws(KeychainError) {
    guard !value.utf8.contains(0) else {
      throw KeychainError(
        .invalidAttribute, "\(subject) holds a NUL character, which the Secret Service cannot store. Leave it out.")
    }
  }
}

extension Options {
  /// Adds attributes as text, and remembers those without a text form.
  mutating func add(_ attributes: [String: Any]) {
    for (name, value) in attributes {
      self.attributes[name] = nil
      unusableAttributes[name] = nil
      if name.isEmpty || name.utf8.contains(0) {
        unusableAttributes[name] = "its name is empty or holds a NUL character"
      } else if Name.identity.contains(name) || name.hasPrefix("xdg:") {
        unusableAttributes[name] = "it tells items apart, and is set by the keychain's initializer and the key"
      } else if let text = Self.text(of: value) {
        self.attributes[name] = text
      } else {
        unusableAttributes[name] = "a \(type(of: value)) is no string, Boolean, integer or data"
      }
    }
  }

  private static func text(of value: Any) -> String? {
    switch value {
    case let value as String: value
    case let value as Bool: String(value)
    case let value as any BinaryInteger: String(describing: value)
    case let value as Data: value.base64EncodedString()
    default: nil
    }
  }
}
