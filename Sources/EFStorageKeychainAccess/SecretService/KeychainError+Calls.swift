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
