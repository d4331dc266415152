// Compares Sources/CSecret/shim.h with the headers of libsecret and GLib: compiled with and without them, it checks the
// layout of types, and with them that every function declared twice has one type. Produces no output.

#include <stddef.h>

#ifdef WITH_HEADERS
#define SECRET_API_SUBJECT_TO_CHANGE 1
#include <gio/gio.h>
#include <libsecret/secret.h>
#endif
#include "../../Sources/CSecret/shim.h"

#define IS(expression, number) _Static_assert((expression) == (number), #expression " is not " #number)

IS(sizeof(gchar), 1);
IS(sizeof(gint), 4);
IS(sizeof(gboolean), 4);
IS(sizeof(guint), 4);
IS(sizeof(guint32), 4);
IS(sizeof(guint64), 8);
IS(sizeof(gsize), sizeof(void *));
IS(sizeof(gssize), sizeof(void *));
IS(sizeof(GQuark), 4);
IS(sizeof(GType), sizeof(void *));

IS(sizeof(GError), 8 + sizeof(void *));
IS(offsetof(GError, domain), 0);
IS(offsetof(GError, code), 4);
IS(offsetof(GError, message), 8);

IS(sizeof(GTypeQuery), 2 * sizeof(void *) + 8);
IS(offsetof(GTypeQuery, type), 0);
IS(offsetof(GTypeQuery, type_name), sizeof(void *));
IS(offsetof(GTypeQuery, class_size), 2 * sizeof(void *));
IS(offsetof(GTypeQuery, instance_size), 2 * sizeof(void *) + 4);

IS(sizeof(GObjectConstructParam), 2 * sizeof(void *));
IS(offsetof(GObjectConstructParam, pspec), 0);
IS(offsetof(GObjectConstructParam, value), sizeof(void *));

IS(offsetof(GObjectClass, g_type_class), 0);
IS(offsetof(GObjectClass, construct_properties), sizeof(void *));
IS(offsetof(GObjectClass, constructor), 2 * sizeof(void *));
// A compiler rejects two types for one variable.
extern __typeof__(((GObjectClass *)0)->constructor) constructor;
extern GObject *(*constructor)(GType, guint, GObjectConstructParam *);
extern GSourceFunc source;
extern gboolean (*source)(gpointer);
extern GDestroyNotify destruction;
extern void (*destruction)(gpointer);
extern GClassInitFunc class_making;
extern void (*class_making)(gpointer, gpointer);
extern GInstanceInitFunc instance_making;
extern void (*instance_making)(GTypeInstance *, gpointer);
extern GAsyncReadyCallback readiness;
extern void (*readiness)(GObject *, GAsyncResult *, gpointer);
extern GDBusSignalCallback signalling;
extern void (*signalling)(
    GDBusConnection *, const gchar *, const gchar *, const gchar *, const gchar *, GVariant *, gpointer);

IS(sizeof(GTypeFlags), 4);
IS(sizeof(GBusType), 4);
IS(sizeof(GDBusProxyFlags), 4);
IS(sizeof(GDBusConnectionFlags), 4);
IS(sizeof(GDBusCallFlags), 4);
IS(sizeof(GDBusSignalFlags), 4);
IS(sizeof(SecretServiceFlags), 4);
IS(G_BUS_TYPE_NONE, 0);
IS(G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES, 1);
IS(G_DBUS_PROXY_FLAGS_DO_NOT_CONNECT_SIGNALS, 2);
IS(G_DBUS_PROXY_FLAGS_DO_NOT_AUTO_START, 4);
IS(G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT, 1);
IS(G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION, 8);
IS(G_DBUS_CALL_FLAGS_NO_AUTO_START, 1);
IS(G_DBUS_SIGNAL_FLAGS_NONE, 0);
IS(G_IO_ERROR_CLOSED, 18);
IS(G_IO_ERROR_CANCELLED, 19);
IS(G_IO_ERROR_TIMED_OUT, 24);
IS(G_IO_ERROR_BROKEN_PIPE, 44);
IS(G_IO_ERROR_NOT_CONNECTED, 45);
IS(SECRET_SERVICE_NONE, 0);
