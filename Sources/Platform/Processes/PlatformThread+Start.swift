import CPlatform

extension PlatformThread {
  /// Scheduling priority, on systems with such classes.
  package enum QualityOfService: Sendable { case unspecified, utility, userInitiated }

  /// Starts a detached thread.
  ///
  /// - Parameters:
  ///   - name: For debuggers; Linux keeps 15 bytes.
  ///   - stackSize: Bytes, raised to the system's minimum; `nil` for the default.
  /// - Throws: `EAGAIN` if the user's or container's thread limit is reached; `body` is not called then.
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

  /// The arguments of a new thread.
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
