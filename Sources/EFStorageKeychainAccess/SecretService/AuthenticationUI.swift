/// What happens when the keyring is locked.
public enum AuthenticationUI: Sendable, Hashable, CaseIterable {
  /// The service may prompt for the password, for at most ``Keychain/interactionTimeout(_:)``.
  case allow
  /// No prompt: the call throws ``KeychainError/Code/locked``.
  case fail
  /// No prompt: what is locked counts as absent when it is read. To write or to remove it throws, as with ``fail``.
  case skip
}
