import Foundation

/// Runs what would use up the stack of the calling thread on another thread, which has one of its own.
///
/// `Decodable` types can only make an object while its owner waits for it on the stack. So that a chain of objects may be
/// longer than any one stack, each so many levels of it get another one.
enum RoomyStack {
  /// After so many levels the first stack is left, which can be as small as 512 KiB.
  private static let firstLevels = 64
  /// How many levels each further stack is for.
  private static let levels = 512
  /// For each of those levels 64 KiB, twice of what a debug build takes for large types. Memory that is not touched costs
  /// nothing.
  private static let size = 32 << 20

  /// Whether another stack is due at a level.
  static func isDue(at level: Int) -> Bool {
    level >= firstLevels && (level - firstLevels).isMultiple(of: levels)
  }

  private final class Work {
    let body: () -> Void
    init(_ body: @escaping () -> Void) { self.body = body }
  }

  /// Runs `body` on a thread of its own, and waits for it.
  ///
  /// - Throws: what `body` throws; `.storageFailed` if the system gives no thread.
  static func run<R>(_ body: () throws -> R) throws -> R {
    var result: Result<R, any Error>?
    try withoutActuallyEscaping(body) { body in
      try join(Work { result = Result { try body() } })
    }
    guard let result else { preconditionFailure("The thread ended without a result.") }
    return try result.get()
  }

  private static func join(_ work: Work) throws(GarageError) {
    let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 1)
    defer { attributes.deallocate() }
    var status = pthread_attr_init(attributes)
    guard status == 0 else { throw failure(status) }
    defer { pthread_attr_destroy(attributes) }
    status = pthread_attr_setstacksize(attributes, size)
    guard status == 0 else { throw failure(status) }
    #if canImport(Darwin)
      var thread: pthread_t?
    #else
      var thread = pthread_t()
    #endif
    // The reference counts for the thread, which gives it back before it is waited for.
    let argument = Unmanaged.passRetained(work)
    status = pthread_create(&thread, attributes, routine, argument.toOpaque())
    guard status == 0 else {
      argument.release()
      throw failure(status)
    }
    #if canImport(Darwin)
      guard let thread else { preconditionFailure("pthread_create gave no thread.") }
    #endif
    status = pthread_join(thread, nil)
    precondition(status == 0, "pthread_join failed")
  }

  #if canImport(Darwin)
    private static let routine: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? = { argument in
      Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body()
      return nil
    }
  #else
    private static let routine: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { argument in
      guard let argument else { return nil }
      Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body()
      return nil
    }
  #endif

  private static func failure(_ status: Int32) -> GarageError {
    GarageError(
      .storageFailed,
      """
      There is no thread for a long chain of objects: \(String(cString: strerror(status))). Raise the limits of threads \
      and of address space (ulimit -u, ulimit -v), or declare a property on the way with @Reference.
      """)
  }
}
