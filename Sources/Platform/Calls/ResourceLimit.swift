/// A limit that the system keeps this process to (getrlimit(2)).
enum ResourceLimit {
  /// Bytes of a file.
  case fileSize
  /// Bytes of addresses.
  case addressSpace

  /// Whether there is such a limit now.
  var isSet: Bool {
    var limit = rlimit()
    #if canImport(Darwin)
      let resource = self == .fileSize ? RLIMIT_FSIZE : RLIMIT_AS
      let status = getrlimit(resource, &limit)
    #elseif canImport(Glibc)
      let resource = self == .fileSize ? RLIMIT_FSIZE : RLIMIT_AS
      let status = getrlimit(__rlimit_resource_t(resource.rawValue), &limit)
    #else
      let status = getrlimit(self == .fileSize ? RLIMIT_FSIZE : RLIMIT_AS, &limit)
    #endif
    // Infinity is the greatest number there is, or half of it.
    return status != 0 || limit.rlim_cur < rlim_t.max / 2
  }
}
