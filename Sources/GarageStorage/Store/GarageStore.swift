protocol GarageStore: AnyObject, Sendable {
  func read<R>(_ body: (any StoreSnapshot) throws -> R) throws -> R

  /// Commits all changes durably, or none. Ignores sync statuses for objects deleted in between.
  ///
  /// - Throws: `.missingEncryptionDelegate` for plain text in an encrypted garage; `.storageFailed`.
  func commit(_ changes: PendingChanges) throws(GarageError)

  func close()
}
