import Platform

extension CacheError {
  /// The only place that converts `errno` values to cache errors.
  init(_ error: SystemError, during activity: String) {
    if error.finding != nil {
      self.init(.invalidDirectory, "\(activity): \(error)", underlying: error)
      return
    }
    switch error.errno {
    case ENOSPC, EDQUOT:
      self.init(
        .noSpace, "\(activity): the disk is full. Free some space; the cache goes on by itself.", underlying: error)
    case EFBIG:
      self.init(
        .noSpace,
        "\(activity): the file would exceed the limit of file sizes. Raise it (ulimit -f); the cache goes on by itself.",
        underlying: error)
    case EROFS:
      self.init(
        .readOnlyFileSystem,
        "\(activity): the file system is mounted read-only. Mount it for writing, or give a directory elsewhere.",
        underlying: error)
    case ETIMEDOUT:
      self.init(
        .lockTimeout,
        "\(activity): another process holds a lock and does not let go. Look for a suspended one (state T) among those "
          + "that use the directory, and continue it or end it.", underlying: error)
    case EACCES, EPERM:
      self.init(
        .permissionDenied, "\(activity): no permission. Give this user read and write access.", underlying: error)
    case EBUSY:
      self.init(.busy, "\(activity): another process is in the way. Try again.", underlying: error)
    default:
      self.init(.storageFailed, "\(activity) failed.", underlying: error)
    }
  }
}
