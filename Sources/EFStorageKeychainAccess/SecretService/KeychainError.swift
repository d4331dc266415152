public import Foundation

/// What went wrong with a keychain, with the remedy in its message. Never holds a secret.
///
/// Match on ``code``; the message is for people and may change between versions.
public struct KeychainError: LocalizedError, Sendable, Hashable, CustomStringConvertible {
  /// The kind of failure. An open set: newer versions may add codes, so keep a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    private init(_ description: String) { self.description = description }

    /// There is no session bus, or no Secret Service on it. The next call looks again.
    public static let serviceUnavailable = Code("serviceUnavailable")
    /// The service did not answer within ``Keychain/timeout(_:)``. What was to be written may have been.
    public static let timedOut = Code("timedOut")
    /// The keyring is locked, and no prompt was allowed, or nobody answered it within
    /// ``Keychain/interactionTimeout(_:)``.
    public static let locked = Code("locked")
    /// The service has no keyring for new items, and none was created by a prompt, as for ``locked``.
    public static let noKeyring = Code("noKeyring")
    /// The prompt to unlock or to create the keyring was dismissed, or could not be shown.
    public static let promptDismissed = Code("promptDismissed")
    /// The bus or the service refused access.
    public static let accessDenied = Code("accessDenied")
    /// The key holds a NUL character, which D-Bus has no means to carry.
    public static let invalidKey = Code("invalidKey")
    /// A service, server, access group, label, comment or attribute cannot be stored as it is.
    public static let invalidAttribute = Code("invalidAttribute")
    /// The item's data is not UTF-8 and was asked for as text. The item is kept.
    public static let conversion = Code("conversion")
    /// Any other failure of the service; see ``KeychainError/underlying``.
    public static let unexpected = Code("unexpected")
  }

  public var code: Code
  /// What happened, and what can be done about it.
  public var message: String
  /// What the service, the bus or the library said, where one of them failed.
  public var underlying: String?

  public init(_ code: Code, _ message: String, underlying: String? = nil) {
    self.code = code
    self.message = message
    self.underlying = underlying
  }

  public var errorDescription: String? { message }
  public var description: String { "\(code): \(message)" + (underlying.map { " (\($0))" } ?? "") }
}

extension KeychainError {
  init(_ failure: CallFailure, within timeout: Duration) {
    switch failure.kind {
    case .timedOut:
      self.init(
        .timedOut,
        "The Secret Service did not answer within \(timeout). See whether it hangs, or allow more time with "
          + "timeout(_:).", underlying: failure.text)
    case .disconnected, .noSession:
      self.init(
        .serviceUnavailable, "The Secret Service ended during the call. Start it again; the next call connects anew.",
        underlying: failure.text)
    case .locked:
      self.init(.locked, "The keyring is locked. Unlock it first.", underlying: failure.text)
    case .denied:
      self.init(
        .accessDenied, "The Secret Service may not be used by this program. Check the sandbox's and the bus's policy.",
        underlying: failure.text)
    case .noObject, .other:
      self.init(.unexpected, "The Secret Service could not do it.", underlying: failure.text)
    }
  }

  init(wrapping error: any Error) {
    self =
      error as? KeychainError
      ?? KeychainError(.unexpected, "The keychain failed.", underlying: String(describing: error))
  }

  static let stillLocked = KeychainError(
    .locked,
    "Items are still locked after the service had unlocked their keyring. Unlock it with the service's own "
      + "program.")

  /// Others changed the item after each look-up.
  static let unsettled = KeychainError(
    .unexpected, "The item was removed or locked by others again and again while it was used. Try once more.")
}
