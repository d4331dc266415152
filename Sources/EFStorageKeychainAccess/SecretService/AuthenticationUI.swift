/// The behavior for a locked keyring.
public enum AuthenticationUI: Sendable, Hashable, CaseIterable {
  /// The service may prompt for the password, within ``Keychain/interactionTimeout(_:)``.
  case allow
  /// No prompt: the call throws ``KeychainError/Code/locked``.
  case fail
  /// No prompt: reads treat locked items as absent; writes and removals throw, as with ``fail``.
  case skip
}
