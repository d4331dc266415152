import Dispatch

/// Where the functions with completions and those for tasks do their work.
enum BackgroundQueue {
  private static let queue = DispatchQueue(label: "LMDBCaching.background", qos: .default, attributes: .concurrent)

  static func run(_ work: @escaping @Sendable () -> Void) { queue.async(execute: work) }

  static func report(
    _ completion: @escaping @Sendable (CacheError?) -> Void, _ work: @escaping @Sendable () throws(CacheError) -> Void
  ) {
    run {
      do throws(CacheError) {
        try work()
        completion(nil)
      } catch {
        completion(error)
      }
    }
  }

  nonisolated(nonsending) static func perform<R: Sendable>(_ work: @escaping @Sendable () -> R) async -> R {
    await withCheckedContinuation { continuation in
      run { continuation.resume(returning: work()) }
    }
  }
}
