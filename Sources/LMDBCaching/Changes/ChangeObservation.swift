/// Held by the users of a ``CacheChanges``; the last release ends the observation.
final class ChangeObservation: Sendable {
  let mailbox: ChangeMailbox
  private let end: @Sendable () -> Void

  init(_ mailbox: ChangeMailbox, onEnd end: @escaping @Sendable () -> Void) {
    self.mailbox = mailbox
    self.end = end
  }

  deinit { end() }
}
