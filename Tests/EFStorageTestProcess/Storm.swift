import EFStorageLMDBCache
import Foundation
import Synchronization

/// Threads that read properties while another one writes them. In this program, since the client of an optimized build
/// must be optimized, too: a read that is torn there is whole in a debug build.
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

    init(_ cache: LMDBCache) {
      _pair = EFStorageLMDBCache(wrappedValue: Pair(-1), forKey: "pair", in: cache)
      _quad = EFStorageLMDBCache(wrappedValue: Quad(-1), forKey: "quad", in: cache)
    }

    func write(_ step: Int) {
      pair = step % 3 == 0 ? nil : Pair(step)
      quad = step % 3 == 0 ? nil : Quad(step)
    }

    /// A description of a value that was never written, or `nil`.
    var torn: String? {
      for case let pair? in [pair, $pair.content ?? Pair(-1)] where pair.number < 0 || pair != Pair(pair.number) {
        return "\(pair)"
      }
      for case let quad? in [quad, $quad.content ?? Quad(-1)] where quad.a < 0 || quad != Quad(quad.a) {
        return "\(quad)"
      }
      return nil
    }
  }

  static func run(directory: String, milliseconds: Int) throws {
    var configuration = CacheConfiguration()
    // Less than the keys, so that the last reference to a value is often the property's.
    configuration.memory.countLimit = 1
    let cache = try LMDBCache(directory: URL(fileURLWithPath: directory), configuration: configuration)
    let properties = Properties(cache)
    properties.write(1)
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
            properties.write(step)
            usleep(50)
          } else if let read = properties.torn {
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
}
