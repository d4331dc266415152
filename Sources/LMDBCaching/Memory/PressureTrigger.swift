#if os(Linux)
  import Platform

  /// A trigger on Linux's pressure stall information, and its waiting thread. The last reference closes the file.
  final class PressureTrigger: Sendable {
    private let descriptor: Int32

    /// Registers "waited for memory for 200 ms of any 2 s", the shortest window open to unprivileged processes. Returns
    /// `nil` if the kernel does not support it.
    init?(path: String) {
      descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
      if descriptor < 0 { return nil }
      let request = "some 200000 2000000"
      let written = request.withCString { write(descriptor, $0, request.utf8.count + 1) }
      if written < 0 {
        close(descriptor)
        return nil
      }
    }

    deinit { close(descriptor) }

    /// Calls `handler` on a separate thread at every event, until it returns `false` or the kernel ends the trigger.
    func start(_ handler: @escaping @Sendable () -> Bool) -> Bool {
      let context = Unmanaged.passRetained(Context(trigger: self, handler: handler))
      var thread = pthread_t()
      let status = pthread_create(
        &thread, nil,
        { raw in
          let context = Unmanaged<Context>.fromOpaque(raw!).takeRetainedValue()
          context.trigger.wait(context.handler)
          return nil
        }, context.toOpaque())
      guard status == 0 else {
        context.release()
        return false
      }
      pthread_detach(thread)
      return true
    }

    private func wait(_ handler: () -> Bool) {
      var poller = pollfd(fd: descriptor, events: Int16(POLLPRI), revents: 0)
      while true {
        let status = poll(&poller, 1, -1)
        if status < 0 {
          if errno == EINTR { continue }
          return
        }
        if poller.revents & Int16(POLLERR | POLLNVAL) != 0 { return }
        if poller.revents & Int16(POLLPRI) != 0, !handler() { return }
      }
    }

    private final class Context: Sendable {
      let trigger: PressureTrigger
      let handler: @Sendable () -> Bool

      init(trigger: PressureTrigger, handler: @escaping @Sendable () -> Bool) {
        self.trigger = trigger
        self.handler = handler
      }
    }
  }
#endif
