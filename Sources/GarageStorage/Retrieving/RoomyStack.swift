import Foundation

/// Continues deep recursion on another thread's stack.
///
/// An owner waits on the stack while a `Decodable` type creates its object, so chains longer than one stack need
/// another every so many levels.
enum RoomyStack {
  /// Levels on the first stack, which may have only 512 KiB.
  private static let firstLevels = 64
  /// Levels on each further stack.
  private static let levels = 512
  /// 64 KiB for each level, twice a debug build's need for large types. Untouched memory costs nothing.
  private static let size = 32 << 20

  static func isDue(at level: Int) -> Bool {
    level >= firstLevels && (level - firstLevels).isMultiple(of: levels)
  }

  private final class Work {
    let body: () -> Void
    init(_ body: @escaping () -> Void) { self.body = body }
  }

  /// Runs `body` on a new thread and waits for it.
  ///
  /// - Throws: The error of `body`; `.storageFailed` if no thread can be created.
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
    // The thread takes over the reference and releases it before it is joined.
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
