import Foundation
import Platform

/// Moves the files of a cache that cannot be trusted out of the way. The caller is the directory's only owner.
///
/// The journals stay: what is in them was acknowledged, every frame has a checksum, and it is applied to the new
/// cache, with the segments of values that it refers to.
struct Quarantine {
  private static let prefix = "quarantine-"
  private static let report = "finding.txt"

  let directory: Directory
  /// Nanoseconds since 1970.
  let date: Int64

  /// The number in the name of a quarantine, or `nil` if the name is none of one.
  static func number(ofName name: String) -> Int? {
    guard name.hasPrefix(prefix) else { return nil }
    let digits = name.dropFirst(prefix.count)
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(digits)
  }

  func recover(_ finding: String, _ page: UInt64?) throws(SystemError) -> CacheRecovery {
    let earlier = try directory.names().compactMap(Self.number)
    var number = Int(max(0, date / 1_000_000))
    // Names sort by time.
    while earlier.contains(number) { number += 1 }
    let name = Self.prefix + String(number)
    let folder = try directory.makeSubdirectory(name)
    try folder.create(Self.report, .exclusively).write(Array((finding + "\n").utf8))
    // Interrupted after any of these, the next opening finds nothing, the same damage, or segments that nothing refers to,
    // which are removed.
    try ValueFolder(cache: directory).move(to: folder, except: try journaledSegments())
    try directory.rename(CacheDirectory.dataName, to: folder, as: CacheDirectory.dataName)
    try directory.remove(CacheDirectory.lockName)
    try CleanExitMark.makeVoid(in: directory)
    try directory.synchronize()
    // The newest one is enough to see what happened, and takes up as much room as the cache did.
    for number in earlier { try remove(Self.prefix + String(number)) }
    return CacheRecovery(
      finding: finding, page: page,
      quarantine: URL(fileURLWithPath: directory.path(of: name), isDirectory: true),
      date: Date(timeIntervalSince1970: Double(date) / 1e9))
  }

  /// Removes what a quarantine of this package holds. Somebody's files in it stay, and the folder with them.
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

  /// The segments with the values of writes that are in a journal.
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
