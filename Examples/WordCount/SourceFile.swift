import Foundation

/// A file and its cache key.
struct SourceFile {
  let url: URL
  let path: String
  /// Identifies the file's state: a modified file has another key.
  let key: String

  /// The regular files below a directory except hidden ones, sorted by path.
  ///
  /// - Parameter failed: Called for each item that cannot be read.
  static func all(below directory: URL, failed: @escaping (URL, any Error) -> Void) throws -> [SourceFile] {
    let wanted: [URLResourceKey] = [.isRegularFileKey, .fileSizeKey, .contentModificationDateKey]
    // An unreadable directory must throw, not appear empty.
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
