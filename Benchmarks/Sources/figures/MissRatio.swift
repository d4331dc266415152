import Foundation
import LMDBCaching

/// Misses of the memory tier on real traces, beside an LRU of the same size.
struct MissRatio: Figure {
  let name = "trace.missRatio"

  private let cases: [(trace: String, limit: Int, goal: Double)] = [
    ("orm-busy", 763, 25.3), ("orm-busy", 7_635, 11.8), ("web12", 137, 60.0), ("web12", 1_375, 28.5),
  ]

  func measure(_ setup: Setup) throws -> [Result] {
    try cases.map { trace, limit, goal in
      let requests = try load(setup.traces + "/\(trace).trace.xz")
      let cache = MemoryCache<UInt32, UInt32>(countLimit: limit)
      var misses = 0
      for key in requests where cache.value(forKey: key) == nil {
        misses += 1
        cache.set(key, forKey: key)
      }
      var lru = LRU(capacity: limit)
      var lruMisses = 0
      for key in requests where !lru.access(key) { lruMisses += 1 }
      let ratio = 100 * Double(misses) / Double(requests.count)
      return Result(
        name: "\(name) \(trace), \(limit) entries", value: ratio, unit: "%", goal: goal,
        detail: "LRU \(number(100 * Double(lruMisses) / Double(requests.count))) %, \(requests.count) requests")
    }
  }

  private func load(_ path: String) throws -> [UInt32] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["xz", "-dc", path]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0, !data.isEmpty else { throw CocoaError(.fileReadCorruptFile) }
    return data.withUnsafeBytes { bytes in
      stride(from: 0, to: bytes.count - 3, by: 4).map {
        UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: $0, as: UInt32.self))
      }
    }
  }
}

/// Least recently used, for comparison: a dictionary into a doubly linked list in arrays.
struct LRU {
  private var places: [UInt32: Int] = [:]
  private var keys: [UInt32]
  private var next: [Int]
  private var previous: [Int]
  private let capacity: Int

  /// Place `capacity` is the list's head and tail.
  init(capacity: Int) {
    self.capacity = capacity
    keys = Array(repeating: 0, count: capacity + 1)
    next = Array(repeating: capacity, count: capacity + 1)
    previous = Array(repeating: capacity, count: capacity + 1)
  }

  /// Whether the key was there; it is the most recently used one now.
  mutating func access(_ key: UInt32) -> Bool {
    if let place = places[key] {
      unlink(place)
      link(place)
      return true
    }
    var place = places.count
    if place == capacity {
      place = previous[capacity]
      unlink(place)
      places.removeValue(forKey: keys[place])
    }
    keys[place] = key
    places[key] = place
    link(place)
    return false
  }

  private mutating func unlink(_ place: Int) {
    next[previous[place]] = next[place]
    previous[next[place]] = previous[place]
  }

  private mutating func link(_ place: Int) {
    next[place] = next[capacity]
    previous[place] = capacity
    previous[next[capacity]] = place
    next[capacity] = place
  }
}
