/// Keeps files that a C library opens by itself from becoming the standard input, output or error of the process.
///
/// A daemon may have closed those; the next file that anybody opens gets the free number, and whatever is printed to
/// the standard error from then on is written into it.
package enum StandardDescriptors {
  // Held during a fork, so that the child finds it free.
  private static let mutex: PlatformMutex = {
    let status = pthread_atfork(
      { StandardDescriptors.mutex.lock() }, { StandardDescriptors.mutex.unlock() },
      {
        // The parent's other threads, whose calls these are, are not here.
        StandardDescriptors.users = 0
        StandardDescriptors.mutex.unlock()
      })
    precondition(status == 0, "pthread_atfork failed")
    return PlatformMutex()
  }()
  // Guarded by `mutex`.
  private nonisolated(unsafe) static var users = 0
  private nonisolated(unsafe) static var taken: [(descriptor: Int32, identity: FileIdentity)] = []

  /// Runs `body` while the three descriptors are taken: by what they are, or by `/dev/null`.
  ///
  /// - Throws: What `body` throws, or an error for descriptors that are free and cannot be taken.
  package static func taking<R>(_ body: () -> R) throws(SystemError) -> R {
    mutex.lock()
    users += 1
    do throws(SystemError) {
      defer { mutex.unlock() }
      try takeFree()
    } catch {
      end()
      throw error
    }
    defer { end() }
    return body()
  }

  private static func takeFree() throws(SystemError) {
    for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
      var opened: Int32
      repeat { opened = open("/dev/null", O_RDWR | O_CLOEXEC) } while opened < 0 && errno == EINTR
      // Nothing else that is everywhere can be opened as harmlessly.
      if opened < 0 { opened = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
      if opened < 0 { throw SystemError("open", "/dev/null") }
      // Another thread has opened something meanwhile, which got the number.
      if opened > 2 {
        Descriptors.close(opened)
        continue
      }
      taken.append((opened, FileIdentity(try Descriptors.status(opened, path: "/dev/null"))))
    }
  }

  private static func end() {
    mutex.lock()
    defer { mutex.unlock() }
    users = max(0, users - 1)
    guard users == 0 else { return }
    for (descriptor, identity) in taken {
      // Unless the program has put something else there meanwhile.
      var status = stat()
      if fstat(descriptor, &status) == 0, FileIdentity(status) == identity { Descriptors.close(descriptor) }
    }
    taken = []
  }
}
