import CPlatform

extension PlatformThread {
  /// How much of the machine a thread may claim, where the system has such classes.
  package enum QualityOfService: Sendable { case unspecified, utility, userInitiated }

  /// Starts a thread that nobody waits for.
  ///
  /// - Parameters:
  ///   - name: For debuggers; Linux keeps 15 bytes of it.
  ///   - stackSize: Bytes, made at least what the system asks for; `nil` for the system's own default.
  /// - Throws: `EAGAIN` where the user has as many threads as are allowed (`ulimit -u`, or the container's limit);
  ///   `body` is not called then.
  package static func start(
    name: String, stackSize: Int? = nil, qualityOfService: QualityOfService = .unspecified,
    _ body: @escaping @Sendable () -> Void
  ) throws(SystemError) {
    if FaultInjection.isOn, let status = FaultInjection.status(for: .pthreadCreate, path: nil) {
      throw SystemError("pthread_create", name, errno: status)
    }
    var attributes = pthread_attr_t()
    var status = pthread_attr_init(&attributes)
    guard status == 0 else { throw SystemError("pthread_attr_init", name, errno: status) }
    defer { pthread_attr_destroy(&attributes) }
    status = pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    guard status == 0 else { throw SystemError("pthread_attr_setdetachstate", name, errno: status) }
    if let stackSize {
      let page = Int(sysconf(Int32(_SC_PAGESIZE)))
      let size = (max(stackSize, 64 << 10) + page - 1) / page * page
      status = pthread_attr_setstacksize(&attributes, size)
      guard status == 0 else { throw SystemError("pthread_attr_setstacksize", name, errno: status) }
    }
    #if canImport(Darwin)
      let quality: qos_class_t =
        switch qualityOfService {
        case .unspecified: QOS_CLASS_UNSPECIFIED
        case .utility: QOS_CLASS_UTILITY
        case .userInitiated: QOS_CLASS_USER_INITIATED
        }
      if quality != QOS_CLASS_UNSPECIFIED { pthread_attr_set_qos_class_np(&attributes, quality, 0) }
    #endif

    let start = Unmanaged.passRetained(Start(name: name, body: body))
    #if canImport(Darwin)
      var thread: pthread_t?
      status = pthread_create(&thread, &attributes, { Start.run($0) }, start.toOpaque())
    #else
      var thread = pthread_t()
      status = pthread_create(&thread, &attributes, { Start.run($0.unsafelyUnwrapped) }, start.toOpaque())
    #endif
    guard status == 0 else {
      start.release()
      throw SystemError("pthread_create", name, errno: status)
    }
  }

  /// What a new thread gets.
  private final class Start: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }

    static func run(_ context: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
      let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
      var name = Array(start.name.utf8.prefix(15))
      name.append(0)
      name.withUnsafeBytes { cplatform_name_thread($0.baseAddress?.assumingMemoryBound(to: CChar.self)) }
      start.body()
      return nil
    }
  }
}
