import Foundation

/// A file, and the key of what is known of it.
struct SourceFile {
  let url: URL
  let path: String
  /// It says which state of the file was counted: the key of a file that was written since is another one.
  let key: String

  /// The regular files below a directory, but for hidden ones, in the order of their paths.
  ///
  /// - Parameter failed: Called for what cannot be looked into.
  static func all(below directory: URL, failed: @escaping (URL, any Error) -> Void) throws -> [SourceFile] {
    let wanted: [URLResourceKey] = [.isRegularFileKey, .fileSizeKey, .contentModificationDateKey]
    // A directory that cannot be read is an error, and not an empty one.
    _ = try FileManager.default.contentsOfDirectory(atPath: directory.path)
    let found = FileManager.default.enumerator(
      at: directory, includingPropertiesForKeys: wanted, options: [.skipsHiddenFiles]
    ) { url, error in
      failed(url, error)
      return true
    }
    var files: [SourceFile] = []
    while let url = found?.nextObject() as? URL {
      let values = try url.resourceValues(forKeys: Set(wanted))
      guard values.isRegularFile == true else { continue }
      let modified = values.contentModificationDate?.timeIntervalSinceReferenceDate ?? 0
      let key = "\(url.standardizedFileURL.path)|\(values.fileSize ?? 0)|\(modified)"
      files.append(SourceFile(url: url, path: url.path, key: key))
    }
    return files.sorted { $0.path < $1.path }
  }
}
