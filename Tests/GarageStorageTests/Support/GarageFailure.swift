@testable import GarageStorage

/// The garage's error that `body` throws, also within a `DecodingError`. `nil` for no error or a foreign one.
func failure<R>(of body: () throws -> R) -> GarageError? {
  do {
    _ = try body()
    return nil
  } catch {
    return GarageError(error)
  }
}
