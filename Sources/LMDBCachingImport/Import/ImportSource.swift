public import Foundation
import FoundationArchives

/// Where entries are imported from. All are only read; nothing is changed in them or made beside them.
public struct ImportSource: Sendable {
  let open: @Sendable (SourceContext) throws(ImportError) -> any EntrySource

  private init(_ open: @escaping @Sendable (SourceContext) throws(ImportError) -> any EntrySource) { self.open = open }

  private static func path(_ url: URL) throws(ImportError) -> String {
    if url.isFileURL { return url.path }
    throw ImportError(.invalidArgument, "\(url) is no file URL; make one with URL(fileURLWithPath:).")
  }

  /// The directory of a YYCache, or of a YYDiskCache, that no program has open: `manifest.sqlite` is in it.
  ///
  /// Created and last access are what they are there. What is no keyed archive is taken for what
  /// `ObjectCoding.customArchive` made, where the cache has a closure to read it, and for bytes otherwise.
  public static func yyCache(directory: URL) -> ImportSource {
    ImportSource { context throws(ImportError) in try YYCacheSource(path(directory), context) }
  }
  /// A file of MMKV, with the one beside it that ends in `.crc`.
  ///
  /// An entry expires here when it does there, where expiries are switched on. Encrypted files are refused.
  ///
  /// - Parameter types: What the values were stored as. One of no type given is taken as the bytes that are in the file.
  public static func mmkv(file: URL, types: MMKVTypes = MMKVTypes()) -> ImportSource {
    ImportSource { context throws(ImportError) in try MMKVSource(path(file), types, context) }
  }

  /// The directory of a PINDiskCache, `com.pinterest.PINDiskCache.<name>`.
  ///
  /// An entry with an age limit of its own expires here when it does there; where the system does not know when a file was
  /// made, as on Linux, the age counts from its last access.
  public static func pinCache(directory: URL) -> ImportSource {
    ImportSource { context throws(ImportError) in try PINCacheSource(path(directory), context) }
  }

  /// The files in a directory and in all below it: a key is a path from there, with slashes, and a value the bytes of a file.
  ///
  /// Created and last access are the file's last change. Links, FIFOs, devices and sockets are refused, and not opened.
  public static func files(in directory: URL) -> ImportSource {
    ImportSource { context throws(ImportError) in try FilesSource(path(directory), context) }
  }

  /// A property list, binary or XML, with a dictionary: such as the file of user defaults. Each of its values is an entry.
  public static func userDefaults(file: URL) -> ImportSource {
    ImportSource { context throws(ImportError) in try UserDefaultsSource(path(file), context) }
  }

  /// All values that user defaults give when this is called, also those that were registered or are not in the file yet.
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

  /// The user defaults of this name: on Linux `<name>.plist` in `$XDG_CONFIG_HOME`, or in `~/.config`.
  ///
  /// What a program has set and Foundation not yet written is not in the file: call `synchronize()` before.
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
