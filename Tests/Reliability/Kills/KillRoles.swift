import Foundation
import LMDBCaching
import TestSupport

/// Writes until it is killed, and acknowledges each write once it has returned.
enum KillWriterRole: TrialRole {
  static let name = "kill-writer"

  static func run(_ arguments: [String]) throws {
    let load = try WriterLoad(arguments[0])
    // Opening replays the journals of dead processes, and may be killed at that.
    answer("opening")
    if load.seed % 3 == 0 { comeAndGo(load) }
    do {
      var cache = try load.open()
      var number = 0
      while true {
        let value = WrittenValue(writer: load.writer, number: number)
        try WriterOperation(number: number, load).apply(to: &cache, value, load)
        answer(String(number))
        number += 1
      }
    } catch {
      answer("failed: \(error)")
    }
  }

  /// Opens and closes the cache on another thread, so that some openings meet a close.
  private static func comeAndGo(_ load: WriterLoad) {
    inBackground(DispatchGroup()) {
      while true {
        do { try load.open().close() } catch { KillWriterRole.answer("failed: \(error)") }
        usleep(500)
      }
    }
  }
}

/// Opens the cache and prints its contents, then `end`.
enum KillDumpRole: TrialRole {
  static let name = "kill-dump"

  static func run(_ arguments: [String]) throws {
    let cache = try WriterLoad(arguments[0]).open()
    for line in try WrittenContents(cache).lines + ["end"] { answer(line) }
    try cache.close()
  }
}

/// Reads the keys of all writers, and prints a line for each fault, and a figure at the end of its input.
enum KillReaderRole: TrialRole {
  static let name = "kill-reader"

  static func run(_ arguments: [String]) throws {
    let load = try WriterLoad(arguments[0])
    let cache = try load.open()
    let isDone = Guarded(false)
    inBackground(DispatchGroup()) {
      while readLine() != nil {}
      isDone { $0 = true }
    }
    answer("open")
    var reader = Reader(cache, load)
    while !isDone.current {
      do { try reader.step() } catch { answer("failed: \(error)") }
    }
    count("reads during the kills", reader.reads)
    try cache.close()
  }

  /// Remembers the newest value of each writer under each key.
  private struct Reader {
    private let cache: LMDBCache
    private let clears: Bool
    private var random: SeededRandom
    private var keys: [String] = []
    private var seen: [String: [Int: Int]] = [:]
    private(set) var reads = 0

    init(_ cache: LMDBCache, _ load: WriterLoad) {
      self.cache = cache
      clears = load.clears
      random = SeededRandom(load.seed)
    }

    mutating func step() throws {
      let start = ContinuousClock.now
      if reads % 200 == 0 {
        keys = try cache.entries().map(\.key)
        if keys.isEmpty { keys = (0..<WriterOperation.sharedKeys).map(WriterOperation.sharedKey) }
      } else {
        try read(keys.randomElement(using: &random)!)
      }
      reads += 1
      let duration = ContinuousClock.now - start
      if duration > .seconds(5) { KillReaderRole.answer("stuck for \(duration)") }
    }

    private mutating func read(_ key: String) throws {
      var value: WrittenValue?
      if key.hasPrefix(WriterOperation.sumPrefix) {
        let sum = try (random.below(2) == 0 ? cache.withoutMemory : cache).value(Int.self, forKey: key)
        // A removal of everything starts it again.
        value = clears ? nil : sum.map { WrittenValue(number: $0) }
      } else {
        let choice = random.below(12)
        if choice == 0 { return try readPair(key) }
        let text =
          switch choice {
          // The first byte is the format's; the text is the span itself.
          case 1: try cache.withBytes(forKey: key) { $0.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
          case 2: try cache.withoutMemory.value(String.self, forKey: key)
          default: try cache.value(String.self, forKey: key)
          }
        value = text.flatMap { WrittenValue($0, key: key) }
        if let text, value == nil { KillReaderRole.answer("wrong under \(key): \(text.prefix(60))") }
      }
      guard let value else { return }
      let before = seen[key]?[value.writer] ?? -1
      if value.number < before { KillReaderRole.answer("backwards under \(key): \(value.number) after \(before)") }
      seen[key, default: [:]][value.writer] = max(before, value.number)
    }

    private func readPair(_ key: String) throws {
      guard let slash = key.firstIndex(of: "/"), key.hasPrefix("w") else { return }
      let pair = [0, 1].map { "\(key[...slash])pair/\($0)" }
      let values = try cache.read { snapshot in
        try pair.map { key in try snapshot.value(String.self, forKey: key).map { WrittenValue($0, key: key) } }
      }
      // Both or neither: no limit evicts entries here.
      if values[0] != values[1] { KillReaderRole.answer("half a batch: \(values)") }
    }
  }
}
