import Platform

/// A process's published statistics: the contents of its file in the statistics folder.
///
///     offset  bytes
///          0      8  "LMDBCLS1"
///          8      4  version: 1
///         12      4  process
///         16      8  number of the publication
///         24     16  opening time: wall clock, monotonic clock
///         40     16  publication time, likewise
///         56      4  1: healthy
///         60      4  length of the name
///         64     64  name, UTF-8
///        128    384  numbers: the counters, nanoseconds of loading, the gauges; zeros
///        512   5280  histograms
///       5792      …  zeros
///       6136      8  XXH3 of the bytes before it
enum StatisticsBlock {
  static let size = 6_144
  static let version: UInt32 = 1
  static let longestName = 64

  private static let magic: UInt64 = 0x3153_4C43_4244_4D4C  // "LMDBCLS1"
  static let magicBytes = magic.littleEndian.bytes

  private static let nameOffset = 64
  private static let numbersOffset = 128
  private static let histogramsOffset = 512
  private static let checkOffset = size - 8
  /// A bound on every number, so that sums do not overflow and times stay plausible.
  private static let greatestNumber = UInt64(1) << 56

  static func isOurs(_ beginning: [UInt8]) -> Bool { beginning.begins(with: magicBytes) }

  // MARK: Writing

  /// - Parameter number: The number of this publication, from 1.
  static func bytes(_ statistics: ProcessStatistics, number: UInt64) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: size)
    bytes.withMutableBytes { bytes in
      bytes.store(magic)
      bytes.store(version, at: 8)
      bytes.store(statistics.process, at: 12)
      bytes.store(number, at: 16)
      bytes.store(statistics.opened.wall, at: 24)
      bytes.store(statistics.opened.monotonic, at: 32)
      bytes.store(statistics.published.wall, at: 40)
      bytes.store(statistics.published.monotonic, at: 48)
      bytes.store(UInt32(statistics.isHealthy ? 1 : 0), at: 56)
      let name = prefix(of: statistics.name)
      bytes.store(UInt32(name.count), at: 60)
      name.withBytes { bytes.copy($0, at: nameOffset) }
      for (index, number) in numbers(of: statistics).enumerated() {
        // A counter read during changes may lag behind another, and make a difference negative.
        bytes.store(min(UInt64(max(0, number)), greatestNumber), at: numbersOffset + index * 8)
      }
      var offset = histogramsOffset
      for path in CacheLatencies.all {
        for count in statistics.latencies[keyPath: path].counts {
          bytes.store(count, at: offset)
          offset += 8
        }
      }
    }
    return sealed(bytes)
  }

  /// Pads the bytes to a block and adds the check.
  static func sealed(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = Array(bytes.prefix(size))
    bytes += [UInt8](repeating: 0, count: size - bytes.count)
    bytes.withMutableBytes { $0.store(ByteView($0[..<checkOffset]).hash(seed: 0), at: checkOffset) }
    return bytes
  }

  private static func numbers(of statistics: ProcessStatistics) -> [Int] {
    CacheStatistics.counters.map { statistics.statistics[keyPath: $0] }
      + [Int(clamping: statistics.statistics.loadTime.clampedNanoseconds)]
      + ProcessStatistics.gauges.map { statistics[keyPath: $0] }
  }

  /// Truncates the name between characters.
  private static func prefix(of name: String) -> [UInt8] {
    var name = name[...]
    while name.utf8.count > longestName { name.removeLast() }
    return Array(name.utf8)
  }

  // MARK: Reading

  /// Parses a file's bytes. Returns `nil` unless they are a complete block of this version: the file may be half
  /// written, damaged or forged.
  static func read(_ bytes: [UInt8], identifier: UInt64) -> (statistics: ProcessStatistics, number: UInt64)? {
    guard bytes.count == size else { return nil }
    return bytes.withBytes { bytes in
      guard bytes.load(as: UInt64.self) == magic, bytes.load(8, as: UInt32.self) == version,
        bytes.load(checkOffset, as: UInt64.self) == bytes[..<checkOffset].hash(seed: 0)
      else { return nil }
      var statistics = ProcessStatistics()
      statistics.identifier = identifier
      statistics.process = bytes.load(12)
      statistics.opened = ProcessStatistics.Moment(wall: bytes.load(24), monotonic: bytes.load(32))
      statistics.published = ProcessStatistics.Moment(wall: bytes.load(40), monotonic: bytes.load(48))
      statistics.isHealthy = bytes.load(56, as: UInt32.self) == 1
      let nameLength = Int(bytes.load(60, as: UInt32.self))
      guard statistics.process > 0, nameLength <= longestName, statistics.opened.monotonic >= 0,
        statistics.opened.monotonic <= statistics.published.monotonic
      else { return nil }
      statistics.name = String(utf8: bytes[nameOffset..<nameOffset + nameLength])

      var offset = numbersOffset
      var isBelievable = true
      func number() -> Int {
        defer { offset += 8 }
        let number = bytes.load(offset, as: UInt64.self)
        if number > greatestNumber { isBelievable = false }
        return Int(clamping: number)
      }
      for path in CacheStatistics.counters { statistics.statistics[keyPath: path] = number() }
      statistics.statistics.loadTime = .nanoseconds(number())
      for path in ProcessStatistics.gauges { statistics[keyPath: path] = number() }
      guard isBelievable else { return nil }

      for (index, path) in CacheLatencies.all.enumerated() {
        let start = histogramsOffset + index * LatencyHistogram.bucketCount * 8
        statistics.latencies[keyPath: path] = LatencyHistogram(
          counts: (0..<LatencyHistogram.bucketCount).map { bytes.load(start + $0 * 8) })
      }
      return (statistics, bytes.load(16))
    }
  }
}

/// The locked file in which this process publishes its statistics.
struct StatisticsFile: ~Copyable {
  let identifier: UInt64
  private let lock: FileLock
  private let folder: Directory
  private var number: UInt64 = 0

  init(_ lock: consuming FileLock, _ identifier: UInt64, in folder: Directory) {
    self.lock = lock
    self.identifier = identifier
    self.folder = folder
  }

  var isDeleted: Bool {
    get throws(SystemError) { try lock.file.status().linkCount == 0 }
  }

  mutating func publish(_ statistics: ProcessStatistics) throws(SystemError) {
    number += 1
    try lock.file.write(StatisticsBlock.bytes(statistics, number: number), at: 0)
  }

  consuming func remove() throws(SystemError) {
    let name = StatisticsFolder.name(of: identifier)
    if try lock.file.isStill(name, in: folder) { try folder.remove(name) }
  }
}
