import EFStorageLMDBCache
import Foundation
import Synchronization

/// Threads that read properties and values while another one writes them. In this program, since the client of an
/// optimized build must be optimized, too: a read that is torn there is whole in a debug build.
enum Storm {
  struct Pair: Codable, LMDBCacheStorable, Equatable {
    var number: Int
    var names: [String]

    init(_ number: Int) {
      self.number = number
      names = ["the name of the pair \(number)", "\(number)"]
    }
  }

  /// Longer than what is read without a lock, and without references.
  struct Quad: Codable, LMDBCacheStorable, Equatable {
    var a, b, c, d: Int

    init(_ number: Int) { (a, b, c, d) = (number, number, number, number) }
  }

  /// The defaults are never read: a nil is stored as one.
  struct Properties: Sendable {
    @EFStorageLMDBCache var pair: Pair?
    @EFStorageLMDBCache var quad: Quad?
    @EFStorageLMDBCache var number: Int?
    @EFStorageLMDBCache var text: String?

    init(_ cache: LMDBCache) {
      _pair = EFStorageLMDBCache(wrappedValue: Pair(-1), forKey: "pair", in: cache)
      _quad = EFStorageLMDBCache(wrappedValue: Quad(-1), forKey: "quad", in: cache)
      _number = EFStorageLMDBCache(wrappedValue: -1, forKey: "number", in: cache)
      _text = EFStorageLMDBCache(wrappedValue: "default", forKey: "text", in: cache)
    }
  }

  static func run(directory: String, milliseconds: Int) throws {
    var configuration = CacheConfiguration()
    // Of six keys, so that the last reference to a value is often the property's.
    configuration.memory.countLimit = 2
    let cache = try LMDBCache(directory: URL(fileURLWithPath: directory), configuration: configuration)
    let memory = MemoryCache<Int, Pair>()
    let properties = Properties(cache)
    write(1, properties, cache, memory)
    let wrong = Mutex<[String: Int]>([:])
    let observation = EFStorageFailure.observe { failure in wrong.withLock { $0["\(failure)", default: 0] += 1 } }
    let deadline = ContinuousClock.now + .milliseconds(milliseconds)
    let threads = DispatchGroup()
    for thread in 0..<6 {
      threads.enter()
      Thread.detachNewThread {
        var step = 1
        while step % 64 != 0 || ContinuousClock.now < deadline {
          step += 1
          if thread == 0 {
            write(step, properties, cache, memory)
            usleep(50)
          } else if let read = torn(properties, cache, memory) {
            wrong.withLock { $0[read, default: 0] += 1 }
          }
        }
        threads.leave()
      }
    }
    threads.wait()
    observation.cancel()
    wrong.withLock { for (what, count) in $0 { print("\(count) times: \(what)") } }
    try cache.close()
    print("calm")
  }

  private static func write(
    _ step: Int, _ properties: Properties, _ cache: LMDBCache, _ memory: MemoryCache<Int, Pair>
  ) {
    let isNil = step % 3 == 0
    properties.pair = isNil ? nil : Pair(step)
    properties.quad = isNil ? nil : Quad(step)
    properties.number = isNil ? nil : step
    properties.text = isNil ? nil : "the text of the number \(step)"
    do { try cache.set(Pair(step), forKey: "value") } catch { print(error) }
    memory.set(Pair(step), forKey: 0)
  }

  /// A description of what was read and was never written, or `nil`.
  private static func torn(
    _ properties: Properties, _ cache: LMDBCache, _ memory: MemoryCache<Int, Pair>
  ) -> String? {
    for pair in [properties.pair, properties.$pair.content ?? Pair(-1), memory.value(forKey: 0)] {
      if let pair, pair.number < 0 || pair != Pair(pair.number) { return "\(pair)" }
    }
    for quad in [properties.quad, properties.$quad.content ?? Quad(-1)] {
      if let quad, quad.a < 0 || quad != Quad(quad.a) { return "\(quad)" }
    }
    for number in [properties.number, properties.$number.content ?? -1] {
      if let number, number < 0 { return "\(number)" }
    }
    for text in [properties.text, properties.$text.content ?? "default"] {
      if let text, !text.hasPrefix("the text of the number ") { return text }
    }
    do {
      let pair = try cache.value(Pair.self, forKey: "value")
      return pair == Pair(pair?.number ?? -1) ? nil : "\(pair as Any)"
    } catch {
      return "\(error)"
    }
  }
}
