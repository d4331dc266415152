/// The state of an object with respect to a web service.
public enum SyncStatus: Int, Sendable, CaseIterable, Codable {
  /// It was not determined. New objects that are not ``Syncable`` have this one.
  case undetermined
  /// The service does not have it yet.
  case notSynced
  /// It is on its way.
  case syncing
  /// The service has it.
  case synced
}
