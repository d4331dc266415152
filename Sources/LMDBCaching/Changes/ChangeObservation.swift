/// What the users of a ``CacheChanges`` hold: with the last of them the observation ends.
final class ChangeObservation: Sendable {
  let mailbox: ChangeMailbox
  private let end: @Sendable () -> Void

  init(_ mailbox: ChangeMailbox, onEnd end: @escaping @Sendable () -> Void) {
    self.mailbox = mailbox
    self.end = end
  }

  deinit { end() }
}
