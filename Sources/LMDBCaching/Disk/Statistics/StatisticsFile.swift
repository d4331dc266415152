import Platform

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
