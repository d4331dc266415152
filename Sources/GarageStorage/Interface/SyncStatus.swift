/// An object's state relative to a web service.
public enum SyncStatus: Int, Sendable, CaseIterable, Codable {
  /// Not determined: the initial status of objects that are not ``Syncable``.
  case undetermined
  /// The service does not have it yet.
  case notSynced
  /// It is being sent.
  case syncing
  /// The service has it.
  case synced
}
