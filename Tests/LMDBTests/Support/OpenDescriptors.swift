#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The number of open descriptors of files in a directory; always 0 without `/proc`.
func openDescriptors(in directory: String) -> Int {
  guard let stream = opendir("/proc/self/fd") else { return 0 }
  defer { closedir(stream) }
  var count = 0
  var target = [UInt8](repeating: 0, count: 4096)
  while let entry = readdir(stream) {
    let name = withUnsafePointer(to: &entry.pointee.d_name) {
      $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
    }
    let length = target.withUnsafeMutableBytes {
      readlink("/proc/self/fd/" + name, $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
    }
    if length > 0, String(decoding: target[..<length], as: UTF8.self).hasPrefix(directory + "/") {
      count += 1
    }
  }
  return count
}
