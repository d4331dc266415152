import CReference
import GRDBSQLite

#if LEVELDB
  import CLevelDB
#endif

/// The versions of the measured libraries.
public enum Libraries {
  public static var versions: [String: String] {
    var numbers = [Int32](repeating: 0, count: 3)
    reference_version(&numbers)
    var versions = [
      "LMDB": numbers.map(String.init).joined(separator: "."), "SQLite": String(cString: sqlite3_libversion()),
    ]
    #if LEVELDB
      versions["LevelDB"] = "\(leveldb_major_version()).\(leveldb_minor_version())"
    #endif
    return versions
  }
}
