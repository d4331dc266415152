/// A key space of an environment: a handle that stays valid as long as the environment is open (`MDB_dbi`).
public struct Database: Sendable, Hashable {
  let handle: UInt32

  /// The unnamed database, which every environment has.
  ///
  /// Named databases keep their records in it, so an environment with named databases should store nothing else there.
  public static let main = Database(handle: 1)
}
