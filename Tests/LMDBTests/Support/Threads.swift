#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let threads = (0..<count).map { index in startThread { body(index) } }
  for thread in threads {
    pthread_join(thread, nil)
  }
}

func startThread(_ body: @escaping @Sendable () -> Void) -> pthread_t {
  final class Box: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
  let context = Unmanaged.passRetained(Box(body)).toOpaque()
  #if canImport(Darwin)
    var thread: pthread_t?
    let status = pthread_create(
      &thread, nil,
      {
        Unmanaged<Box>.fromOpaque($0).takeRetainedValue().body()
        return nil
      }, context)
    precondition(status == 0)
    return thread!
  #else
    var thread = pthread_t()
    let status = pthread_create(
      &thread, nil,
      {
        Unmanaged<Box>.fromOpaque($0!).takeRetainedValue().body()
        return nil
      }, context)
    precondition(status == 0)
    return thread
  #endif
}

func join(_ thread: pthread_t) {
  pthread_join(thread, nil)
}

func yieldThread() {
  sched_yield()
}
