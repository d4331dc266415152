import Platform

extension GarageError {
  static func openingFailed(_ directory: String, _ error: SystemError) -> GarageError {
    switch error.finding {
    case .kind(.symbolicLink):
      return GarageError(
        .linkedFile,
        """
        \(error.path) is a symbolic link. A garage does not follow links in the place of its files: put the file \
        itself there, or give the directory that it leads to. Nothing was changed.
        """, underlying: error)
    case .kind:
      return GarageError(
        .linkedFile, "\(error.path) is not a file. Move it away, and open the garage again. Nothing was changed.",
        underlying: error)
    case .names:
      return GarageError(
        .linkedFile,
        "\(error.path) has other names (hard links), and so belongs to somebody else, too. Copy it to a directory of its "
          + "own. Nothing was changed.", underlying: error)
    case .name, .tooLarge, nil: break
    }
    switch error.errno {
    case ENOTDIR, EEXIST:
      return GarageError(
        .invalidStore, "\(directory) is not a directory. Give the URL of a directory, or of one that can be made.",
        underlying: error)
    case EACCES, EPERM:
      return GarageError(
        .storageFailed,
        "The garage in \(directory) cannot be opened: no permission. Give this user read and write access.",
        underlying: error)
    default:
      return GarageError(
        .storageFailed,
        "The garage in \(directory) cannot be opened: \(String(cString: strerror(error.errno))). Correct that, and open "
          + "it again.", underlying: error)
    }
  }

  static func notAGarage(_ directory: String, _ reason: String, underlying: (any Error)? = nil) -> GarageError {
    GarageError(
      .notAGarage,
      "\(directory) cannot be a garage: \(reason). Give another directory, or an empty one; nothing was changed.",
      underlying: underlying)
  }

  static func unsupportedVersion(_ directory: String) -> GarageError {
    GarageError(
      .unsupportedVersion,
      "The garage in \(directory) was written by a newer version of this package. Update, or give another directory; "
        + "nothing was changed.")
  }
}
