// Imports the platform's C library for this module and its importers.

#if canImport(Glibc)
  @_exported public import Glibc
#elseif canImport(Musl)
  @_exported public import Musl
#else
  @_exported public import Darwin
#endif

/// Makes a system call, again after a signal, and returns its result. `call` returns a negative number and sets `errno`
/// on failure. `path` is the file or directory that it is about.
@inline(__always)
func call<R: FixedWidthInteger & SignedInteger>(
  _ name: FaultInjection.Call, _ path: @autoclosure () -> String, _ call: () -> R
) throws(SystemError) -> R {
  while true {
    if FaultInjection.isOn, let status = FaultInjection.status(for: name, path: path()) {
      if status == 0 { return 0 }
      errno = status
    } else {
      let result = call()
      if result >= 0 { return result }
    }
    // Taken before the path is made, which may change it.
    let number = errno
    if number != EINTR { throw SystemError(name.rawValue, path(), errno: number) }
  }
}

/// poll(2), which waits for at most `nanoseconds`, rounded up to milliseconds: rounded down, a waiting loop would turn once
/// more. Returns the number of ready descriptors, or -1 and `errno`.
package func pollDescriptors(_ items: inout [pollfd], nanoseconds: Int64) -> Int32 {
  unsafe poll(&items, nfds_t(items.count), milliseconds(nanoseconds))
}

/// The same for one descriptor, with the events that are ready.
package func pollDescriptor(_ descriptor: Int32, _ events: Int32, nanoseconds: Int64) -> (count: Int32, ready: Int32) {
  var item = pollfd(fd: descriptor, events: Int16(events), revents: 0)
  let count = unsafe poll(&item, 1, milliseconds(nanoseconds))
  return (count, Int32(item.revents))
}

private func milliseconds(_ nanoseconds: Int64) -> Int32 {
  Int32(clamping: max(0, nanoseconds).addingClamped(999_999) / 1_000_000)
}

/// The result of `body`, or `nil` if it fails with one of these error numbers.
func allowing<R: ~Copyable>(_ numbers: Int32..., body: () throws(SystemError) -> R) throws(SystemError) -> R? {
  do throws(SystemError) {
    return try body()
  } catch {
    if error.finding == nil, numbers.contains(error.errno) { return nil }
    throw error
  }
}
