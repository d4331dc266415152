public import Foundation

/// The user's secrets by key, in the freedesktop.org Secret Service: GNOME Keyring, KeePassXC or KWallet.
///
/// The names are those of the KeychainAccess package, which you should use on Apple platforms; this one is for Linux.
///
/// ```swift
/// let keychain = Keychain(service: "com.example.github-token")
/// try keychain.set("01234567-89ab-cdef", key: "kishikawakatsumi")
/// let token = try keychain.get("kishikawakatsumi")
/// try keychain.remove("kishikawakatsumi")
/// ```
///
/// **Identity.** Class, service (or server, port, protocol and authentication type), access group and key identify an
/// item; setting it again replaces it. Keys compare by their UTF-8 bytes, are case-sensitive, and may be empty or long,
/// but not contain NUL. Keychains with different services or access groups never see each other's items. An access
/// group only separates: the service gives every program of the user every item.
///
/// **Secrets** are only in the service: without one, each call throws ``KeychainError/Code/serviceUnavailable``. They
/// are encrypted in transit if the service supports that. libsecret keeps them in memory that is not paged out, as far
/// as `ulimit -l` allows, and overwrites it; the callers' `String` and `Data` are copies without that care. Labels,
/// keys and attributes are not secret.
///
/// **Threads.** Use it from any thread. A call blocks until the service answers, usually about a millisecond for a read
/// and some for a write. If the service hangs it takes up to ``timeout(_:)``, 5 seconds by default (for each of several
/// items), and up to ``interactionTimeout(_:)``, one minute by default, while a person unlocks a keyring. On a server,
/// set ``authenticationUI(_:)`` to `.fail`. Do not call it where blocking is forbidden.
///
/// **Connection.** All keychains of the process share one connection to the session bus, which is opened by the first
/// call and reopened after the bus or the service has ended it. A forked child without `exec` must not use a keychain.
public final class Keychain: Sendable {
  let options: Options
  let store: ItemStore

  init(_ options: Options, store: ItemStore = .shared) {
    self.options = options
    self.store = store
  }

  /// - Parameters:
  ///   - service: If `nil`, the items are this program's: the main bundle's identifier, or else the name of the process.
  ///   - accessGroup: An empty one is the same as `nil`.
  public convenience init(service: String? = nil, accessGroup: String? = nil) {
    var options = Options()
    options.service = service ?? Options.defaultService
    options.accessGroup = accessGroup
    self.init(options)
  }

  /// Internet passwords for a server.
  ///
  /// - Parameter server: Its host and port count; the scheme, user and path do not. Without a host, all of it is the
  ///   server's name.
  public convenience init(
    server: URL, protocolType: ProtocolType, accessGroup: String? = nil,
    authenticationType: AuthenticationType = .default
  ) {
    var options = Options()
    options.itemClass = .internetPassword
    options.server = server
    options.protocolType = protocolType
    options.accessGroup = accessGroup
    options.authenticationType = authenticationType
    self.init(options)
  }

  public var itemClass: ItemClass { options.itemClass }
  /// Empty for internet passwords.
  public var service: String { options.service }
  public var accessGroup: String? { options.accessGroup }
  /// `about:blank` for generic passwords.
  public var server: URL { options.server }
  /// Only for internet passwords.
  public var protocolType: ProtocolType { options.protocolType }
  /// Only for internet passwords.
  public var authenticationType: AuthenticationType { options.authenticationType }
}

/// Describes the keychain without its items: does not ask the service, and prints no secret.
extension Keychain: CustomStringConvertible {
  public var description: String {
    let group = accessGroup.map { ", accessGroup: \($0)" } ?? ""
    return switch itemClass {
    case .genericPassword: "Keychain(service: \(service)\(group))"
    case .internetPassword: "Keychain(server: \(server), protocolType: \(protocolType)\(group))"
    }
  }
}

/// Each returns another keychain for the same items, and leaves this one unchanged.
extension Keychain {
  /// The label of items when they are set, shown by the service's program. Without one, a new item gets its service and
  /// key as label, and an existing item keeps its label.
  public func label(_ label: String) -> Keychain { with { $0.label = label } }

  /// The comment of items when they are set, an attribute. Not secret.
  public func comment(_ comment: String) -> Keychain { with { $0.comment = comment } }

  /// Attributes to add to items when they are set. Not secret.
  ///
  /// Stored as text: strings, Booleans, integers in decimal, data in Base64. Setting an item throws
  /// ``KeychainError/Code/invalidAttribute`` for a value of another type, or a name that identifies items (`class`,
  /// `service`, `server`, `port`, `protocol`, `authenticationType`, `accessGroup`, `key`, `xdg:…`).
  public func attributes(_ attributes: [String: Any]) -> Keychain { with { $0.add(attributes) } }

  /// Whether a locked keyring may make the service prompt. ``AuthenticationUI/allow`` is the default.
  public func authenticationUI(_ authenticationUI: AuthenticationUI) -> Keychain {
    with { $0.waits.authenticationUI = authenticationUI }
  }

  /// How long a prompt may wait for a person: one minute by default. Zero or less: no prompt.
  ///
  /// After that, the call throws ``KeychainError/Code/locked``. The service may keep showing the prompt: answered
  /// later, it unlocks the keyring for later calls.
  public func interactionTimeout(_ timeout: Duration) -> Keychain { with { $0.waits.interactionTimeout = timeout } }

  /// How long the bus and the service may take for an operation, without prompts: 5 seconds by default, one day at
  /// most. Operations on many items allow this for each item. After that, the call throws
  /// ``KeychainError/Code/timedOut``.
  public func timeout(_ timeout: Duration) -> Keychain { with { $0.waits.timeout = timeout } }

  private func with(_ change: (inout Options) -> Void) -> Keychain {
    var options = options
    change(&options)
    return Keychain(options, store: store)
  }
}
