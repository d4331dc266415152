import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Moves the files of a cache that cannot be trusted out of the way. The caller is the directory's only owner.
///
/// The journals stay: what is in them was acknowledged, every frame has a checksum, and it is replayed into the new
/// cache, with the value files it refers to.
struct Quarantine {
  static let prefix = "quarantine-"
  private static let report = "finding.txt"

  let directory: String
  /// Nanoseconds since 1970.
  let date: Int64

  func recover(_ finding: String, _ page: UInt64?) throws(SystemError) -> CacheRecovery {
    let earlier = try Directory.names(in: directory).filter { $0.hasPrefix(Self.prefix) }
    let name = freeName(earlier)
    let folder = directory + "/" + name
    try Directory.create(folder)
    let report = try File(folder + "/" + Self.report, flags: O_WRONLY | O_CREAT | O_TRUNC)
    try report.write(Array((finding + "\n").utf8))
    // Interrupted after any of these, the next opening finds nothing, the same damage, or files that belong to nobody,
    // which are swept.
    try moveValueFiles(to: folder)
    try Directory.move(directory + "/data.mdb", to: folder + "/data.mdb")
    try Directory.removeFile(directory + "/lock.mdb")
    try CleanExitMark.makeVoid(in: directory)
    try Directory.synchronize(directory)
    // The newest one is enough to see what happened, and takes up as much room as the cache did.
    for name in earlier { try Directory.removeTree(directory + "/" + name) }
    return CacheRecovery(
      finding: finding, page: page, quarantine: URL(fileURLWithPath: folder, isDirectory: true),
      date: Date(timeIntervalSince1970: Double(date) / 1e9))
  }

  /// Names sort by time.
  private func freeName(_ taken: [String]) -> String {
    var number = max(0, date / 1_000_000)
    while taken.contains(Self.prefix + String(number)) { number += 1 }
    return Self.prefix + String(number)
  }

  private func moveValueFiles(to folder: String) throws(SystemError) {
    let values = directory + "/" + ValueFiles.folder
    let names = try Directory.names(in: values)
    if names.isEmpty { return }
    let kept = try journaledFiles()
    try Directory.create(folder + "/" + ValueFiles.folder)
    for name in names where !kept.contains(name) {
      try Directory.move(values + "/" + name, to: folder + "/" + ValueFiles.folder + "/" + name)
    }
  }

  /// The value files of writes that are in a journal.
  private func journaledFiles() throws(SystemError) -> Set<String> {
    var files: Set<String> = []
    let folder = directory + "/" + JournalFile.folder
    for name in try Directory.names(in: folder) where name.hasSuffix(JournalFile.suffix) {
      guard let journal = try OrphanedJournal(path: folder + "/" + name) else { continue }
      for frame in journal.runs.flatMap(\.frames) where frame.operation == .put {
        if let header = RecordHeader(frame.record), header.flags.contains(.file) {
          files.insert(ValueFileReference(header.payload(of: frame.record)).name)
        }
      }
    }
    return files
  }
}
