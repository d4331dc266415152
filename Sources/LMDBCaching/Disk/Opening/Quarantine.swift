import Foundation
import Platform

/// Moves a cache's untrusted files out of the way. The caller must be the only process in the directory.
///
/// Journals stay: their writes were acknowledged, carry checksums, and are applied with their values to the new cache.
struct Quarantine {
  private static let prefix = "quarantine-"
  private static let report = "finding.txt"

  let directory: Directory
  /// Nanoseconds since 1970.
  let date: Int64

  /// The number in a quarantine's name, or `nil` for another name.
  static func number(ofName name: String) -> Int? {
    guard name.hasPrefix(prefix) else { return nil }
    let digits = name.dropFirst(prefix.count)
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(digits)
  }

  func recover(_ finding: String, _ page: UInt64?) throws(SystemError) -> CacheRecovery {
    let earlier = try directory.names().compactMap(Self.number)
    var number = Int(max(0, date / 1_000_000))
    while earlier.contains(number) { number += 1 }
    let name = Self.prefix + String(number)
    let folder = try directory.makeSubdirectory(name)
    try folder.create(Self.report, .exclusively).write(Array((finding + "\n").utf8))
    // If interrupted, the next opening finds nothing, the same damage, or unreferenced segments, which it removes.
    try ValueFolder(cache: directory).move(to: folder, except: try journaledSegments())
    try directory.rename(CacheDirectory.dataName, to: folder, as: CacheDirectory.dataName)
    try directory.remove(CacheDirectory.lockName)
    try CleanExitMark.makeVoid(in: directory)
    try directory.synchronize()
    // Keep only the newest: each takes as much space as the cache did.
    for number in earlier { try remove(Self.prefix + String(number)) }
    return CacheRecovery(
      finding: finding, page: page,
      quarantine: URL(fileURLWithPath: directory.path(of: name), isDirectory: true),
      date: Date(timeIntervalSince1970: Double(date) / 1e9))
  }

  /// Removes a quarantine's own files. Foreign files stay, and the folder with them.
  private func remove(_ name: String) throws(SystemError) {
    guard try directory.kind(of: name) == .directory, let folder = try directory.subdirectory(name),
      try folder.kind(of: Self.report) == .regular
    else { return }
    try ValueFolder(cache: folder).removeAll()
    for file in [CacheDirectory.dataName, CacheDirectory.lockName] where try folder.kind(of: file) == .regular {
      try folder.remove(file)
    }
    let rest = try folder.names().filter { $0 != Self.report && $0 != ValueFolder.name }
    let hasValues = try folder.subdirectory(ValueFolder.name).map { (values) throws(SystemError) in
      try !values.isEmpty()
    }
    if rest.isEmpty && hasValues != true { try directory.removeTree(name) }
  }

  /// The segments that journaled writes refer to.
  private func journaledSegments() throws(SystemError) -> Set<UInt64> {
    var segments: Set<UInt64> = []
    let folder = JournalFolder(cache: directory)
    for identifier in try folder.identifiers() {
      guard let journal = try folder.orphan(identifier) else { continue }
      segments.formUnion(journal.runs.flatMap(\.frames).compactMap { $0.pointer?.segment })
    }
    return segments
  }
}
