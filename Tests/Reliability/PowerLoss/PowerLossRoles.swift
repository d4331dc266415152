import Foundation
import LMDBCaching
import Platform
import TestSupport
import WriteLog

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Prints a cache's contents, and `end`. Changes the cache while its writes are logged, and exits without closing it.
///
/// Arguments: the parent of the cache's directory, the log, the number of the first operation, how many, the number of
/// the boot, the load.
enum PowerLossWriter: TrialRole {
  static let name = "power-loss-writer"

  static func run(_ arguments: [String]) throws {
    let status = write_log_begin(arguments[0], arguments[1])
    if status != 0 { throw POSIXError(POSIXErrorCode(rawValue: status) ?? .EIO) }
    BootIdentifier.simulate(boot: UInt64(arguments[4])!)
    do {
      try write(WriterLoad(arguments[5]), Int(arguments[2])!, count: Int(arguments[3])!)
    } catch {
      write_log_mark("failed \(error)")
      answer("\(error)")
    }
    // Exit without closing: the power fails before that.
    _exit(0)
  }

  private static func write(_ load: WriterLoad, _ first: Int, count: Int) throws {
    var random = SeededRandom(load.seed &+ UInt64(first))
    var cache = try load.open()
    for line in try WrittenContents(cache).lines + ["end"] { answer(line) }
    write_log_mark("opened")
    // The pages as last logged.
    var journals: [String: [UInt8]] = [:]
    for number in first..<first + count {
      write_log_mark("begin \(number)")
      try WriterOperation(number: number, load).apply(
        to: &cache, WrittenValue(writer: load.writer, number: number), load)
      logJournals(load.directory + "/journals", &journals)
      write_log_mark("end \(number) \(cache.isCommitted ? 1 : 0)")
      // Some group commits fall between two changes, others hold several.
      let opened = cache
      if random.below(12) == 0, !eventually({ opened.isCommitted }) { write_log_mark("failed nothing was committed") }
    }
  }

  /// Stores through a memory map bypass every logged call.
  private static func logJournals(_ folder: String, _ journals: inout [String: [UInt8]]) {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
      guard let data = FileManager.default.contents(atPath: folder + "/" + name),
        let number = try? SimulatedDisk.number(folder + "/" + name)
      else { continue }
      let contents = [UInt8](data)
      let old = journals[name] ?? [UInt8](repeating: 0, count: contents.count)
      for start in stride(from: 0, to: contents.count, by: 4096) {
        let count = min(4096, contents.count - start)
        contents.withUnsafeBytes { contents in
          let page = contents.baseAddress! + start
          let isUnchanged =
            old.count == contents.count && old.withUnsafeBytes { memcmp($0.baseAddress! + start, page, count) == 0 }
          if !isUnchanged { write_log_mapped(number, UInt64(start), page, count) }
        }
      }
      journals[name] = contents
    }
  }
}

/// Opens caches after a power cut: a boot and a load in each line. Prints the contents, faults, and `end`.
enum PowerLossReader: TrialRole {
  static let name = "power-loss-reader"

  static func run(_ arguments: [String]) throws {
    while let line = readLine() {
      let words = line.split(separator: " ", maxSplits: 1).map(String.init)
      BootIdentifier.simulate(boot: UInt64(words[0])!)
      do { try check(WriterLoad(words[1])) } catch { answer("fault \(error)") }
      answer("end")
    }
  }

  private static func check(_ load: WriterLoad) throws {
    let cache = try load.open()
    var found = try WrittenContents(cache)
    // Every segment has an entry, and every entry its value.
    try found.checkValueLog(of: cache)
    for line in found.lines { answer(line) }
    func expect(_ condition: Bool, _ text: String) { if !condition { answer("fault \(text)") } }
    expect(try WrittenContents(cache).values == found.values, "a sweep changes it")
    expect(cache.health.isHealthy, "\(cache.health)")
    let left = try Set(FileManager.default.contentsOfDirectory(atPath: load.directory)).subtracting(
      TrialCache.fileNames)
    expect(left.isEmpty, "left behind: \(left)")

    // It must keep working, and have the same contents after it is reopened.
    let probes = ["probe": Data("probe".utf8), "large probe": Data(repeating: 7, count: 60_000)]
    for (key, value) in probes { try cache.set(value, forKey: key) }
    try cache.flush()
    try cache.close()
    let again = try load.open()
    for (key, value) in probes {
      expect(try again.value(Data.self, forKey: key) == value, "a write after it is lost")
      try again.removeValue(forKey: key)
    }
    try again.flush()
    expect(try WrittenContents(again).values == found.values, "it changes when it is opened again")
    try again.close()
  }
}
