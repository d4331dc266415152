public import Foundation
import FoundationArchives
import LMDBCaching

/// A store to import from. Sources are only read; no file is changed or added.
public struct ImportSource: Sendable {
  let open: @Sendable (SourceContext) throws(ImportError) -> any EntrySource

  private init(_ open: @escaping @Sendable (SourceContext) throws(ImportError) -> any EntrySource) { self.open = open }

  private static func path(_ url: URL) throws(ImportError) -> String {
    if url.isFileURL { return url.path }
    throw ImportError(.invalidArgument, "\(url) is no file URL; make one with URL(fileURLWithPath:).")
  }

  /// The directory of a YYCache or YYDiskCache, with `manifest.sqlite`, that no program has open.
  ///
  /// Keeps creation and access times. Values that are not keyed archives are read by the cache's
  /// `ObjectCoding.customUnarchive` closure if it has one, and otherwise imported as bytes.
  public static func yyCache(directory: URL) -> ImportSource {
    ImportSource { context throws(ImportError) in try YYCacheSource(path(directory), context) }
  }
  /// An MMKV file, with its `.crc` file.
  ///
  /// Entries keep their expiry if the file has expiries enabled. Encrypted files are refused.
  ///
  /// - Parameter types: The values' types. Values without one are imported as the raw bytes in the file.
  public static func mmkv(file: URL, types: MMKVTypes = MMKVTypes()) -> ImportSource {
    ImportSource { context throws(ImportError) in try MMKVSource(path(file), types, context) }
  }

  /// The directory of a PINDiskCache, `com.pinterest.PINDiskCache.<name>`.
  ///
  /// Entries with an age limit keep their expiry. On systems without file creation times, such as Linux, the age counts
  /// from the last access.
  public static func pinCache(directory: URL) -> ImportSource {
    ImportSource { context throws(ImportError) in try PINCacheSource(path(directory), context) }
  }

  /// The files in a directory tree: keys are relative paths with slashes, values the files' bytes.
  ///
  /// Creation and access times are the file's last change. Links, FIFOs, devices and sockets are refused without
  /// opening them.
  public static func files(in directory: URL) -> ImportSource {
    ImportSource { context throws(ImportError) in try FilesSource(path(directory), context) }
  }

  /// A property list, binary or XML, with a dictionary, such as a user defaults file. Each value is an entry.
  public static func userDefaults(file: URL) -> ImportSource {
    ImportSource { context throws(ImportError) in try UserDefaultsSource(path(file), context) }
  }

  /// All current values of user defaults, including registered ones and those not yet in the file.
  public static func userDefaults(_ defaults: UserDefaults) -> ImportSource {
    let content = Result {
      try PropertyListSerialization.data(
        fromPropertyList: defaults.dictionaryRepresentation(), format: .binary, options: 0)
    }
    return ImportSource { context throws(ImportError) in
      do {
        return try UserDefaultsSource(content.get(), of: "The dictionary representation")
      } catch {
        throw error as? ImportError
          ?? ImportError(.unreadableSource, "These user defaults hold no property list.", underlying: error)
      }
    }
  }

  /// The user defaults with a name: on Linux `<name>.plist` in `$XDG_CONFIG_HOME` or `~/.config`.
  ///
  /// Call `synchronize()` first to include values that Foundation has not written yet.
  public static func userDefaults(named name: String) -> ImportSource {
    ImportSource { context throws(ImportError) in
      guard !name.isEmpty, !name.contains("/") else {
        throw ImportError(
          .invalidArgument, "\"\(name)\" is no name of user defaults; for a path use userDefaults(file:).")
      }
      return try UserDefaultsSource(DefaultsLocation.path(ofSuite: name), context)
    }
  }
}

/// A store to import from. Read once, on one thread.
protocol EntrySource {
  /// The number of entries, if known; may be an estimate, for progress only.
  var count: Int? { get }

  /// The next entry, or `nil` at the end. A bad entry does not end the source.
  ///
  /// - Throws: A failure that ends the import, keeping earlier entries.
  mutating func next() throws(ImportError) -> SourceStep?

  /// The value of the entry that ``next()`` returned last.
  mutating func value() throws(EntryFailure) -> ImportedValue
}

enum SourceStep {
  case entry(SourceEntry)
  /// An entry that cannot be taken.
  case refused(ImportRefusal)
  /// A remark about the source as a whole.
  case remark(ImportRefusal)
}

/// An entry's properties, known before its value is read. Times are in nanoseconds since 1970.
struct SourceEntry {
  let key: String
  /// `nil` if unknown.
  var created: Int64?
  /// `nil` if unknown.
  var lastAccess: Int64?
  /// 0 for never.
  var expires: Int64 = 0
  /// The failure of a part of an entry that is otherwise taken.
  var remainder: EntryFailure?
}

/// The importing cache's properties for a source.
struct SourceContext {
  /// Bytes. Longer values are refused and need not be read.
  let maximumValueSize: Int
  /// Whether the cache has a closure for objects that are not keyed archives.
  let isUnarchivedByClosure: Bool
  /// The cache's present or future directory, which may lie in the source.
  let cacheDirectory: String?
}
